package inspect

import (
	"bytes"
	"context"
	"errors"
	"io"

	"agentrec/internal/redact"
	"agentrec/store"
)

// tokenRoom is longer than any token.
const tokenRoom = 128

// numberTokens gives the tokens of a session the form they have in text. s must
// stand in a private database.
func numberTokens(ctx context.Context, temp *store.DB, s *store.Session) error {
	n := redact.NewNumbering()
	for f, err := range s.Frames(ctx, 1, 0) {
		if err != nil {
			return err
		}
		n.Keep(f.Raw)
	}
	for x, err := range s.Exchanges(ctx) {
		if err != nil {
			return err
		}
		n.KeepExchange(&x)
	}
	text := func(p *string) { *p = string(n.Apply([]byte(*p))) }
	_, err := temp.Rewrite(ctx, s, store.Edit{
		Same:  true,
		Frame: func(f store.Frame) ([]byte, error) { return n.Apply(f.Raw), nil },
		Giant: func(_ store.Frame, in io.Reader) (io.Reader, error) { return &numberReader{in: in, n: n}, nil },
		Event: func(e *store.Event) error {
			text(&e.Detail)
			return nil
		},
		Exchange: func(x *store.Exchange) error {
			n.Exchange(x)
			return nil
		},
		Session: func(s *store.Session) error {
			for i := range s.Argv {
				text(&s.Argv[i])
			}
			for _, p := range []*string{&s.Name, &s.Cwd, &s.Reason} {
				text(p)
			}
			for _, m := range []map[string]string{s.Tags, s.Folders} {
				for k, v := range m {
					text(&v)
					m[k] = v
				}
			}
			return nil
		},
	})
	return err
}

// numberReader numbers the tokens of what it reads.
type numberReader struct {
	in   io.Reader
	n    *redact.Numbering
	hold []byte // may end in the beginning of a token
	out  []byte
	done bool
}

func (r *numberReader) Read(b []byte) (int, error) {
	for len(r.out) == 0 {
		if r.done {
			return 0, io.EOF
		}
		at := len(r.hold)
		r.hold = append(r.hold, make([]byte, 64<<10)...)
		n, err := r.in.Read(r.hold[at:])
		r.hold = r.hold[:at+n]
		cut := len(r.hold)
		if errors.Is(err, io.EOF) {
			r.done = true
		} else if err != nil {
			return 0, err
		} else if i := bytes.LastIndexByte(r.hold[max(cut-tokenRoom, 0):], '<'); i >= 0 {
			cut = max(cut-tokenRoom, 0) + i
		}
		r.out = append([]byte{}, r.n.Apply(r.hold[:cut])...)
		r.hold = append(r.hold[:0], r.hold[cut:]...)
	}
	n := copy(b, r.out)
	r.out = r.out[n:]
	return n, nil
}
