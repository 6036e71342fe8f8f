//! A bounded pool for slow work, such as calls to the outside, so that it never holds up a pass.

use std::{
    collections::HashSet,
    hash::Hash,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::FutureExt;
use tokio::{
    sync::{Mutex as AsyncMutex, mpsc},
    task::JoinSet,
};

/// The options of the queue: how many works there may be, and how many of them at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::Args)]
#[group(id = "work-queue")]
pub struct Limits {
    /// How many calls to the outside are made at the same time.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..))]
    pub workers: u16,

    /// How many calls to the outside may wait for a worker. Where more are wanted, the Tasks that want them are looked at again later.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u16).range(1..))]
    pub queue_size: u16,
}

/// What became of a work that was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a work that was not taken is not done"]
pub enum Offer {
    /// It was taken, and runs to its end.
    Taken,
    /// There is one of the same key that has not ended; this one was dropped.
    Present,
    /// There is no room; this one was dropped, and is to be offered again later.
    Full,
    /// No more work is taken; this one was dropped.
    Stopped,
}

/// A fixed number of workers, and a queue of fixed length before them.
///
/// Guarantees that of each key there is one work at most, waiting or running; that they begin in the order in which they
/// were taken; that one that panics takes nothing else along; and that all that were taken have ended when
/// [`drain`](Self::drain) returns.
///
/// A work should bound its own time: nothing here does.
pub struct WorkQueue<K: Eq + Hash> {
    sender: Mutex<Option<mpsc::Sender<Job<K>>>>,
    keys: Arc<Keys<K>>,
    workers: AsyncMutex<JoinSet<()>>,
}

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

struct Job<K: Eq + Hash> {
    work: Work,
    _key: Entry<K>,
}

impl<K> WorkQueue<K>
where
    K: Clone + Eq + Hash + Send + 'static,
{
    /// Starts the workers on the current runtime.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        let (sender, receiver) = mpsc::channel(limits.queue_size.max(1).into());
        let receiver = Arc::new(AsyncMutex::new(receiver));
        let mut workers = JoinSet::new();
        for _ in 0..limits.workers.max(1) {
            workers.spawn(work(Arc::clone(&receiver)));
        }
        Self {
            sender: Mutex::new(Some(sender)),
            keys: Arc::new(Keys(Mutex::default())),
            workers: AsyncMutex::new(workers),
        }
    }

    /// Offers the work of `key`. It never waits: where there is no room, that is for the caller to bear.
    pub fn offer(&self, key: K, work: impl Future<Output = ()> + Send + 'static) -> Offer {
        let sender = self.sender();
        let Some(sender) = &*sender else {
            return Offer::Stopped;
        };
        let Ok(room) = sender.try_reserve() else {
            return Offer::Full;
        };
        let Some(entry) = Keys::enter(&self.keys, key) else {
            return Offer::Present;
        };
        room.send(Job {
            work: Box::pin(work),
            _key: entry,
        });
        Offer::Taken
    }

    /// How many works have been taken and have not ended.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.keys.lock().len()
    }

    /// Takes no more work, and waits until all that was taken has ended.
    pub async fn drain(&self) {
        self.sender().take();
        let mut workers = self.workers.lock().await;
        while workers.join_next().await.is_some() {}
    }

    fn sender(&self) -> MutexGuard<'_, Option<mpsc::Sender<Job<K>>>> {
        // Each change to it is complete at once, so there is nothing half-done to fear.
        self.sender.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One worker: it ends when the queue is closed and empty.
async fn work<K: Eq + Hash>(receiver: Arc<AsyncMutex<mpsc::Receiver<Job<K>>>>) {
    loop {
        let next = receiver.lock().await.recv().await;
        let Some(job) = next else {
            return;
        };
        // What it leaves half-done is only its own.
        if AssertUnwindSafe(job.work).catch_unwind().await.is_err() {
            tracing::error!("a work panicked");
        }
    }
}

/// The keys of the works that have not ended.
struct Keys<K>(Mutex<HashSet<K>>);

impl<K: Clone + Eq + Hash> Keys<K> {
    fn enter(keys: &Arc<Self>, key: K) -> Option<Entry<K>> {
        keys.lock().insert(key.clone()).then(|| Entry {
            keys: Arc::clone(keys),
            key,
        })
    }
}

impl<K> Keys<K> {
    fn lock(&self) -> MutexGuard<'_, HashSet<K>> {
        // Each change to it is complete at once, so there is nothing half-done to fear.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A key that is taken back when this is dropped.
struct Entry<K: Eq + Hash> {
    keys: Arc<Keys<K>>,
    key: K,
}

impl<K: Eq + Hash> Drop for Entry<K> {
    fn drop(&mut self) {
        self.keys.lock().remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::pending,
        sync::atomic::{AtomicUsize, Ordering},
        time::Duration,
    };

    use tokio::{sync::Semaphore, time::sleep};

    use super::*;

    fn queue(workers: u16, queue_size: u16) -> WorkQueue<usize> {
        WorkQueue::new(Limits {
            workers,
            queue_size,
        })
    }

    /// Waits until the workers have taken what they can.
    async fn settle() {
        sleep(Duration::from_millis(1)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_queue_takes_nothing_until_a_work_has_ended() {
        let (queue, gate) = (queue(2, 3), Arc::new(Semaphore::new(0)));
        let offer = |key| {
            let gate = Arc::clone(&gate);
            queue.offer(key, async move {
                gate.acquire().await.unwrap().forget();
            })
        };
        for key in 0..5 {
            assert_eq!(offer(key), Offer::Taken, "{key}");
            settle().await;
        }
        assert_eq!((offer(5), queue.depth()), (Offer::Full, 5));
        gate.add_permits(1);
        settle().await;
        assert_eq!((offer(5), queue.depth()), (Offer::Taken, 5));
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_works_run_at_once_than_there_are_workers() {
        let queue = queue(3, 100);
        let [running, most] = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
        for key in 0..50 {
            let (running, most) = (Arc::clone(&running), Arc::clone(&most));
            let work = async move {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                sleep(Duration::from_secs(1)).await;
                running.fetch_sub(1, Ordering::SeqCst);
            };
            assert_eq!(queue.offer(key, work), Offer::Taken);
        }
        queue.drain().await;
        assert_eq!(most.load(Ordering::SeqCst), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn of_each_key_there_is_one_work_until_it_has_ended() {
        let queue = queue(1, 5);
        let work = || sleep(Duration::from_secs(1));
        assert_eq!(queue.offer(1, work()), Offer::Taken);
        assert_eq!(queue.offer(1, work()), Offer::Present);
        settle().await;
        assert_eq!(queue.offer(1, work()), Offer::Present);
        sleep(Duration::from_secs(2)).await;
        assert_eq!(queue.offer(1, work()), Offer::Taken);
    }

    #[tokio::test(start_paused = true)]
    async fn all_that_was_taken_has_ended_when_it_is_drained_and_no_more_is_taken() {
        let (queue, ended) = (Arc::new(queue(2, 20)), Arc::new(AtomicUsize::new(0)));
        for key in 0..20 {
            let ended = Arc::clone(&ended);
            let work = async move {
                sleep(Duration::from_secs(1)).await;
                ended.fetch_add(1, Ordering::SeqCst);
            };
            assert_eq!(queue.offer(key, work), Offer::Taken);
        }
        let draining = Arc::clone(&queue);
        let draining = tokio::spawn(async move { draining.drain().await });
        settle().await;
        assert_eq!(queue.offer(99, pending()), Offer::Stopped);
        draining.await.unwrap();
        assert_eq!((ended.load(Ordering::SeqCst), queue.depth()), (20, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_work_that_panics_takes_no_worker_along() {
        let (queue, ended) = (queue(1, 5), Arc::new(AtomicUsize::new(0)));
        assert_eq!(queue.offer(1, async { panic!("oh") }), Offer::Taken);
        let told = Arc::clone(&ended);
        let work = async move {
            told.fetch_add(1, Ordering::SeqCst);
        };
        assert_eq!(queue.offer(2, work), Offer::Taken);
        queue.drain().await;
        assert_eq!((ended.load(Ordering::SeqCst), queue.depth()), (1, 0));
    }
}
