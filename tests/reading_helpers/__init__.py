"""What tests of lint, lift and readers share.

| module | content |
|---|---|
| `lint_results` | findings of a program in short forms, its repairs, and exchanged parts |
| `lint_runs` | rules for one test, and the command `crosscast lint` |
| `program_facts` | facts about programs of TensorFlow, Paddle and JAX |
| `torch_programs` | facts that one reader tells about a program of PyTorch |
| `loop_facts` | facts about training loops |
| `reader_texts` | facts about scripts and configurations, and what commands start |
| `inherited_files` | facts about configurations and those that they inherit from |
| `lift_facts` | facts and analyses that no reader made |
| `torch_loops` | loops of PyTorch with parts to exchange, lifted |
| `vocabulary_check` | that facts are in the words of the vocabulary, and said once |

Whole programs with all that is said of them are not here: see `reading_cases`.
"""
