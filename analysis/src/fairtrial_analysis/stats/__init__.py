"""Statistics of a cohort: one method per file, pure, each naming its method, reference and deviation.

Counts and measurements are exact (`int`, `Fraction`) until `render` writes them down; only what needs a root, a
logarithm or a distribution is floating point. What is undefined is None with a reason, never zero, and NaN never
leaves. Every choice that could have been another is a field of `conventions.Conventions`, which is hashed into whatever
is made with it.

`proportions` rates and their intervals · `reliability` pass@k and pass^k · `location` medians, quantiles, spread ·
`resampling` bootstrap · `paired` blocks, tasks and tests · `ratios` task-normalised ratios, break-even · `flow` what
became of every scheduled run · `multiplicity` several claims at once · `scores` scores of single protocols · `planning`
sizes.
"""
