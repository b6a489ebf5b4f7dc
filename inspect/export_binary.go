package inspect

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// maxStripped is the longest frame whose binary strings are taken out, in
// bytes; it is held in memory for that.
const maxStripped = 64 << 20

// withoutBinary returns the sessions with a description in the place of each
// image, document and sound. Sessions without any stay as they are; the others
// are copies in temp.
func withoutBinary(ctx context.Context, temp *store.DB, list []*store.Session) ([]*store.Session, error) {
	out := make([]*store.Session, len(list))
	for i, s := range list {
		out[i] = s
		any, err := holdsBinary(ctx, s)
		if err != nil {
			return nil, err
		}
		if !any {
			continue
		}
		copies, err := temp.Copy(ctx, s)
		if err != nil {
			return nil, err
		}
		out[i] = copies[0]
		if _, err := temp.Rewrite(ctx, out[i], store.Edit{
			Frame: func(f store.Frame) ([]byte, error) { return dialect.StripBinary(f.Raw), nil },
			Giant: func(_ store.Frame, in io.Reader) (io.Reader, error) { return stripGiant(in) },
			Exchange: func(x *store.Exchange) error {
				x.SetBody(dialect.StripBinary(x.Body))
				return nil
			},
		}); err != nil {
			return nil, fmt.Errorf("taking binary data out of session %d: %w", s.ID, err)
		}
	}
	return out, nil
}

func holdsBinary(ctx context.Context, s *store.Session) (bool, error) {
	for f, err := range s.Frames(ctx, 1, 0) {
		if err != nil {
			return false, fmt.Errorf("reading the frames: %w", err)
		}
		if f.Raw == nil && f.Size > 0 || len(dialect.Binaries(f.Raw)) > 0 {
			return true, nil
		}
	}
	for x, err := range s.Exchanges(ctx) {
		if err != nil {
			return false, fmt.Errorf("reading the exchanges: %w", err)
		}
		if len(dialect.Binaries(x.Body)) > 0 {
			return true, nil
		}
	}
	return false, nil
}

// stripGiant takes binary strings out of a long frame; one longer than
// maxStripped stays as it is.
func stripGiant(in io.Reader) (io.Reader, error) {
	b, err := io.ReadAll(io.LimitReader(in, maxStripped+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxStripped {
		return io.MultiReader(bytes.NewReader(b), in), nil
	}
	return bytes.NewReader(dialect.StripBinary(b)), nil
}
