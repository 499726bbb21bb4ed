"""What is known of libraries: public names, signatures, versions."""
