"""Tests that run frameworks, each in processes of its own, and what these tests share.

Starting programs:

    subprocesses            runs a program that imports a framework; `warm` interpreters
    fork_server             processes that have imported a framework and fork for every program
    fork_client             what a warm interpreter runs: it asks the server for a fork
    names                   the frameworks, by the names of the back ends
    script_runs             calls main() of an emitted train.py; what a run leaves
    runner_runs             runs through the parity runner: faults and emulation from outside
    observe_runs            observed runs, all of one framework in one process
    masked_runs             runs with given dropout masks
    state_runs              runs that stop and go on in another framework

Scripts and data:

    emitted_script          the smallest recipe, scripts, rows
    emitted_model           model.py of a small BERT
    torch_lab, paddle_lab   a folder with data, scripts and runs
    own_rows                rows of a user
    own_state_models        a small model in three frameworks, and what its weights are called
    own_weight_models       a model with a layer of every kind in three frameworks
    scaling_bugs            bugs of data-parallel scripts, and what the scaling law makes of them
    example_problems        copies of the example problems, small
    example_weights         their weights, from PyTorch to the others
    user_loop_jax, user_loop_torch  a training loop of a user

    carried_weights         weights of carried models by neutral names, in every framework

Tables of cases:

    step_cases              what the recipes of test_steps have in common
    torch_cases, tensorflow_cases, paddle_cases, jax_cases
                            its recipes by framework
    loss_cases              recipes with every kind of loss
    paddle_dynamic_cases    programs of Paddle 1.8
    tensorflow1_programs, tensorflow1_keras_programs
                            programs of TensorFlow 1
    built_programs          programs that cannot be run, and what their frameworks refuse
    module_programs         the example problems, implemented in other ways (`module_rewrites.diff`)
                            or with differences (`module_plants.diff`)
    type_plants             other types planted in models (`type_plants.diff`)
    damages                 damages of files, and what a script must make of each
    fault_toys              toy scripts with the seams of emitted ones

What results are held against:

    bert_oracle             the BERT in NumPy
    toy_training            a toy whose gradients are known
    observe_checks          what observation must do in every framework
    same_training           whether two processes trained as one
    two_processes           a recipe in one process and in two, and how far they may part

Programs beside `run_*.py`, each for a process of its own, and what these share:

    example_job, model_job  what runners of several frameworks share
    observe_job             observes a toy script
    emulation_facts         computes under emulation
    own_model_types         types of a model's operations under emulation
    paddle_autocast_facts   types of operations under auto_cast
    hostile_files_torch     writes files that should not be trusted
    read_tracked            reads what trackers have
"""
