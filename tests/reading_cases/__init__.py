"""Programs with all that lint and lift say of them, kept in Markdown files that a person can read.

| module | content |
|---|---|
| `files` | the cases of a file, and writing what is said now |
| `changes` | small changes of a program, as in a diff |
| `said` | what is said of a program, and what a change of it changes there |

A file holds cases. A case is a heading of the second level, some words, the files of a user as code
blocks whose info strings end in their names, and a block `text` with what is said:

    ## The counter is raised before the test

    ```python train.py
    ...
    ```

    ```text
    9 CL104 error: ...
    accumulation.steps = 4 | constant | 3, 9
    ```

A block `findings` in place of `text` has what lint says and no facts: the case is about a rule.

A block `diff` may follow with variations: after `@@` and a title the change, whose lines must stand
in exactly one place, and after `!` what is said of the changed program and not of the one above, or
no longer. Whatever else is said above is also said of the variation, of the same statements. `@@`
without a title begins another place of the same change; lines with `#` below a title are words.

    ```diff
    @@ counted from 1
    -step = 0
    +step = 1
    ! no longer 9 CL104
    ```
"""
