"""How fast runs go through a control plane with simulated nodes, ours against peers. See cohort_scale.md."""
