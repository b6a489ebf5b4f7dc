package store

import "context"

// Watch returns a context under which reading and storing frames tell fn how
// many were just read or stored, many at a time, so that somebody can say how
// far a long work has come. fn is called from any goroutine.
func Watch(ctx context.Context, fn func(frames int)) context.Context {
	return context.WithValue(ctx, watchKey{}, fn)
}

type watchKey struct{}

// tell tells the watcher of ctx, if there is one.
func tell(ctx context.Context, frames int) {
	if fn, ok := ctx.Value(watchKey{}).(func(int)); ok && frames > 0 {
		fn(frames)
	}
}
