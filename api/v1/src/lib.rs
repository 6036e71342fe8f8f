//! Task at v1: the hub and storage version.
