//! The bound on the memory that reviews take.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The memory that a body of `bytes` bytes takes while it is answered: itself, and an answer of up to 2¼ times its size. The answer's buffer
/// starts an eighth larger than the body, which nearly always does, and doubles once if not.
pub(super) const fn cost(bytes: usize) -> usize {
    bytes.saturating_mul(13) / 4
}

/// How much memory all reviews may take together.
#[derive(Debug)]
pub(super) struct Budget {
    limit: usize,
    held: AtomicUsize,
}

/// A part of the budget, given back when it is dropped.
#[derive(Debug)]
#[must_use = "what is not held is free for others"]
pub(super) struct Reservation {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Budget {
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            held: AtomicUsize::new(0),
        })
    }

    /// How many bytes are held.
    pub(super) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Whether `bytes` more would fit now.
    pub(super) fn has_room_for(&self, bytes: usize) -> bool {
        bytes <= self.limit.saturating_sub(self.held())
    }

    /// A reservation of nothing yet.
    pub(super) fn open(self: &Arc<Self>) -> Reservation {
        Reservation {
            budget: Arc::clone(self),
            bytes: 0,
        }
    }
}

impl Reservation {
    /// Grows to `bytes` in all, if there is room; otherwise nothing changes.
    pub(super) fn grow_to(&mut self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        let (limit, held) = (self.budget.limit, &self.budget.held);
        let fits = |held: usize| held.checked_add(more).filter(|sum| *sum <= limit);
        let grown = held
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits)
            .is_ok();
        if grown {
            self.bytes += more;
        }
        grown
    }

    /// Becomes `bytes`, whether there is room or not: for memory that is already taken.
    pub(super) fn set(&mut self, bytes: usize) {
        self.budget.held.fetch_add(bytes, Ordering::Relaxed);
        self.budget.held.fetch_sub(self.bytes, Ordering::Relaxed);
        self.bytes = bytes;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_reserved_than_the_limit() {
        let budget = Budget::new(10);
        let (mut first, mut second) = (budget.open(), budget.open());
        assert!(first.grow_to(6));
        assert!(!second.grow_to(5));
        assert!(second.grow_to(4));
        assert!(!first.grow_to(7));
        assert_eq!(budget.held(), 10);
    }

    #[test]
    fn what_is_dropped_is_free_again() {
        let budget = Budget::new(10);
        let mut first = budget.open();
        assert!(first.grow_to(10));
        assert!(!budget.has_room_for(1));
        drop(first);
        assert!(budget.has_room_for(10));
    }

    #[test]
    fn what_is_taken_already_is_counted_beyond_the_limit() {
        let budget = Budget::new(10);
        let mut reservation = budget.open();
        reservation.set(15);
        assert_eq!(budget.held(), 15);
        reservation.set(3);
        assert_eq!(budget.held(), 3);
    }
}
