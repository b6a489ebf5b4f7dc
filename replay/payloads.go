package replay

import (
	"context"
	"fmt"
	"io"
	"iter"

	"agentrec/store"
)

// payloads hands out recorded frames. Frames asked for in order of seq come
// from one pass over the store; others are looked up. Not for concurrent use.
type payloads struct {
	ctx     context.Context
	session *store.Session
	next    func() (store.Frame, error, bool)
	stop    func()
	at      int64 // seq that next will yield
	cache   map[int64]store.Frame
	size    int
}

// Frames that the pass skips to reach the one asked for, rather than begin anew,
// and the bytes of looked-up frames that are kept.
const (
	maxSkip  = 64
	maxCache = 8 << 20
)

func newPayloads(ctx context.Context, s *store.Session) *payloads {
	return &payloads{ctx: ctx, session: s, cache: map[int64]store.Frame{}}
}

func (p *payloads) close() {
	if p.stop != nil {
		p.stop()
		p.stop, p.next = nil, nil
	}
}

// get returns a frame from the pass.
func (p *payloads) get(seq int64) (store.Frame, error) {
	if p.next == nil || seq < p.at || seq > p.at+maxSkip {
		p.close()
		p.next, p.stop = pull(p.session.Frames(p.ctx, seq, 0))
		p.at = seq
	}
	for {
		f, err, ok := p.next()
		if !ok {
			p.close()
			return f, fmt.Errorf("reading frame %d: %w", seq, store.ErrNotFound)
		}
		if err != nil {
			p.close()
			return f, fmt.Errorf("reading frame %d: %w", seq, err)
		}
		p.at = f.Seq + 1
		if f.Seq >= seq {
			return f, nil
		}
	}
}

func pull(frames iter.Seq2[store.Frame, error]) (func() (store.Frame, error, bool), func()) {
	return iter.Pull2(frames)
}

// lookup returns a frame by seq, whatever was asked for before.
func (p *payloads) lookup(seq int64) (store.Frame, error) {
	if f, ok := p.cache[seq]; ok {
		return f, nil
	}
	f, err := p.session.Frame(p.ctx, seq)
	if err != nil {
		return f, fmt.Errorf("reading frame %d: %w", seq, err)
	}
	if p.size+len(f.Raw) > maxCache {
		clear(p.cache)
		p.size = 0
	}
	p.cache[seq] = f
	p.size += len(f.Raw)
	return f, nil
}

// text returns the bytes of a frame, or what stands for them when it is a giant.
func (p *payloads) text(seq int64) ([]byte, error) {
	f, err := p.lookup(seq)
	if err == nil && f.Raw == nil && f.Size > 0 {
		return p.giant(f)
	}
	return f.Raw, err
}

// giant returns the text that stands for a giant frame in comparisons.
func (p *payloads) giant(f store.Frame) ([]byte, error) {
	r, err := p.session.Reader(p.ctx, f.Seq)
	if err != nil {
		return nil, fmt.Errorf("reading frame %d: %w", f.Seq, err)
	}
	defer r.Close()
	var line giantLine
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		line.add(buf[:n])
		if err == io.EOF {
			line.add([]byte(f.Term.Bytes()))
			raw, _ := line.frame(false)
			return raw, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading frame %d: %w", f.Seq, err)
		}
	}
}
