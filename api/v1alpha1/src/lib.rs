//! Task at v1alpha1: the deprecated spoke version.
