//! A real local control plane.
