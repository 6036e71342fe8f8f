//! The CustomResourceDefinition of Task.
