"""The worker process: the only code that imports torch, triton and the target repository.

It holds no token and knows nothing of techniques, sessions or verdicts: it runs the repository's benchmark script,
stops where the script measures, and answers what it is asked about that point.
"""
