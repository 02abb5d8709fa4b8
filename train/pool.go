package train

import (
	"context"
	"fmt"
	"sync"
)

// Ordered runs work for the slots from ≤ i < n on so many goroutines and hands the
// results to emit in slot order, from the calling goroutine. Results wait until
// their turn, so the order of emit never depends on timing; what was emitted is
// always a prefix. The first error (of work or emit) stops everything, and is
// returned after all goroutines have ended.
func Ordered[T any](ctx context.Context, workers, from, n int, work func(ctx context.Context, slot int) (T, error), emit func(slot int, v T) error) error {
	if from >= n {
		return ctx.Err()
	}
	workers = max(1, min(workers, n-from))
	parent := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		slot int
		v    T
		err  error
	}
	var (
		slots   = make(chan int)
		results = make(chan result)
		// ahead bounds how far a worker may run in front of the slot to be emitted
		// next: an interrupt loses at most so many finished results.
		ahead = make(chan struct{}, 4*workers)
		wg    sync.WaitGroup
	)
	go func() {
		defer close(slots)
		for i := from; i < n; i++ {
			select {
			case ahead <- struct{}{}:
			case <-ctx.Done():
				return
			}
			select {
			case slots <- i:
			case <-ctx.Done():
				return
			}
		}
	}()
	for range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range slots {
				v, err := work(ctx, i)
				results <- result{i, v, err}
			}
		}()
	}
	go func() { wg.Wait(); close(results) }()

	var (
		waiting = map[int]T{}
		next    = from
		first   error
	)
	for r := range results {
		if first != nil {
			continue // drain
		}
		if r.err != nil {
			// The caller's own cancellation is reported as such, not as the failure it causes.
			first = r.err
			if parent.Err() != nil {
				first = parent.Err()
			}
			cancel()
			continue
		}
		waiting[r.slot] = r.v
		for first == nil {
			v, ok := waiting[next]
			if !ok {
				break
			}
			delete(waiting, next)
			if err := emit(next, v); err != nil {
				first = err
				cancel()
				break
			}
			next++
			<-ahead
		}
	}
	if first == nil {
		first = parent.Err()
	}
	if first == nil && next != n {
		first = fmt.Errorf("train: %d of %d results", next, n)
	}
	return first
}
