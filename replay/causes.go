package replay

import (
	"context"
	"fmt"

	"agentrec/store"
)

// Causes reads a session, by the dialect that table says, and returns what tells
// of a frame what a replay waits for before it sends it, in the words of
// Explain: "" for a frame that it does not send.
func Causes(ctx context.Context, s *store.Session, table string) (func(seq int64) string, error) {
	p, err := newPlayer(ctx, Options{Dialect: table}, s)
	if err != nil {
		return nil, err
	}
	d, err := p.dialect()
	if err != nil {
		return nil, err
	}
	b, err := p.build(d, func(store.Frame) {})
	if err != nil {
		return nil, err
	}
	x := explainer{s: b.finish(s.State)}
	return func(seq int64) string {
		items := x.s.items
		for i := seq; i > 0 && i < int64(len(items)); i++ { // events stand between the frames
			if it := &items[i]; int64(it.seq) == seq {
				return x.causes(int32(i), it)
			}
		}
		return ""
	}, nil
}

func (x *explainer) causes(i int32, it *item) string {
	if it.stream != store.Out {
		return ""
	}
	var line Explained
	if x.waits(i, it, &line); line.With != 0 {
		return fmt.Sprintf("right behind %d", line.With)
	}
	return line.humanWaits()
}
