package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"agentrec/internal/dialect"
	"agentrec/internal/redact"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// checkSecrets reports what redaction should have taken out: in the frames, the
// exchanges, the argument vector and all other text of a session. No finding shows a secret.
func checkSecrets(ctx context.Context, l *look, o *checkOptions, report func(Finding)) error {
	r, err := o.redactor(ctx, l.DB)
	if err != nil {
		return err
	}
	r.SetDialect(l.Dialect)
	in := int64(0) // the exchange at hand
	tell := func(seq int64, where string, place string, h redact.Hit) {
		level := LevelError
		if !h.Sure {
			level = LevelWarning
		}
		message := fmt.Sprintf("%s %s, %s long", secretName(h), where, count(h.End-h.Start, "byte"))
		report(Finding{Seq: seq, Exchange: in, Place: place, Rule: h.Kind, Level: level, Message: message})
	}
	s := l.Session
	for i, arg := range r.Argv(s.Argv) {
		if arg == s.Argv[i] {
			continue
		}
		hit := redact.Hit{End: len(s.Argv[i]), Sure: true, Kind: "argument"}
		if start, end := redact.NextToken([]byte(arg)); start >= 0 {
			hit.Kind, _ = redact.IsToken(arg[start:end])
		}
		tell(0, fmt.Sprintf("in argument %d of the command line", i), "", hit)
	}
	texts := [][2]string{{"name", s.Name}, {"working directory", s.Cwd}, {"reason", s.Reason}}
	for k, v := range s.Tags {
		texts = append(texts, [2]string{"tag " + k, k + "=" + v})
	}
	for k, v := range s.Folders {
		texts = append(texts, [2]string{k + " folder", v})
	}
	for _, t := range texts {
		for _, h := range r.Find(store.Err, []byte(t[1])) {
			tell(0, "in the session's "+t[0], "", h)
		}
	}
	frames := r.Session()
	for f, err := range s.Frames(ctx, 1, 0) {
		if err != nil {
			return err
		}
		if f.Raw == nil && f.Size > 0 {
			if err := checkGiant(ctx, s, f, r, tell); err != nil {
				return err
			}
			continue
		}
		for _, h := range frames.Find(f.Stream, f.Raw) {
			place := placeOf(f.Raw, h.Start)
			where := fmt.Sprintf("at byte %d", h.Start)
			if place != "" {
				where = "at " + place
			}
			tell(f.Seq, where, place, h)
		}
	}
	for x, err := range s.Exchanges(ctx) {
		if err != nil {
			return err
		}
		for _, h := range r.FindExchange(&x) {
			in = x.Number
			tell(0, "in its "+h.Where, "", h.Hit)
		}
	}
	in = 0
	t, err := l.transcript(ctx)
	if err != nil {
		return err
	}
	split, err := splitSecrets(ctx, t, r)
	for _, one := range split {
		last := one.pieces[len(one.pieces)-1].seq
		tell(one.pieces[0].seq, fmt.Sprintf("in a text that came in pieces, up to frame %d", last), "", one.hit)
	}
	return err
}

// secretName says what was found, for people.
func secretName(h redact.Hit) string {
	what := strings.ReplaceAll(h.Kind, "_", " ")
	if !h.Sure {
		return "what looks like a secret (" + what + ")"
	}
	return "a secret (" + what + ")"
}

// redactor returns the redactor for a database, or, with db nil, for a file.
func (o *checkOptions) redactor(ctx context.Context, db *store.DB) (*redact.Redactor, error) {
	var key []byte
	if db != nil {
		var err error
		if key, err = db.Secret(ctx); err != nil {
			return nil, err
		}
	}
	return redact.New(redact.Options{Key: key, Environ: o.Environ, DotEnv: o.DotEnv, Rules: o.Rules})
}

// stretch is how much of a giant or of a file that is no recording is looked at
// at a time, and overlap how much of it is looked at twice, so that what lies
// on the border is seen.
const (
	stretch = 4 << 20
	overlap = 64 << 10
)

// findIn reports the secrets of a stream of any length once each, by their
// place in it. lines is how many line feeds stand before the hit.
func findIn(in io.Reader, r *redact.Redactor, stream store.Stream, tell func(offset int64, lines int, h redact.Hit)) error {
	var buf []byte
	var base, done int64 // of buf in the stream; up to where hits have been told
	lines := 0
	for {
		n := len(buf)
		buf = slices.Grow(buf, stretch)[:n+stretch]
		got, err := io.ReadFull(in, buf[n:])
		buf = buf[:n+got]
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return err
		}
		sure := len(buf)
		if !last {
			sure -= overlap
		}
		at := 0
		count := lines
		for _, h := range r.Find(stream, buf) {
			if h.Start >= sure || base+int64(h.Start) < done {
				continue
			}
			count += bytes.Count(buf[at:h.Start], []byte("\n"))
			at = h.Start
			tell(base+int64(h.Start), count, h)
			done = base + int64(h.End)
		}
		if last {
			return nil
		}
		done = max(done, base+int64(sure))
		keep := max(sure-overlap, 0)
		lines += bytes.Count(buf[:keep], []byte("\n"))
		base += int64(keep)
		buf = append(buf[:0], buf[keep:]...)
	}
}

// checkGiant looks through a giant frame.
func checkGiant(ctx context.Context, s *store.Session, f store.Frame, r *redact.Redactor, tell func(int64, string, string, redact.Hit)) error {
	in, err := s.Reader(ctx, f.Seq)
	if err != nil {
		return err
	}
	defer in.Close()
	err = findIn(in, r, store.Err, func(offset int64, _ int, h redact.Hit) { tell(f.Seq, fmt.Sprintf("at byte %d", offset), "", h) })
	if err != nil {
		return fmt.Errorf("reading frame %d: %w", f.Seq, err)
	}
	return nil
}

// What a file is, by its first bytes.
const (
	plainFile = iota // no recording
	textFile
	databaseFile
)

// fileKind tells what a file is. A missing one is an error.
func fileKind(path string) (int, error) {
	f, err := os.Open(path)
	if err != nil {
		return plainFile, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.IsDir() {
		return plainFile, errors.Join(err, errIfDir(info))
	}
	begin := make([]byte, 64)
	n, err := io.ReadFull(f, begin)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return plainFile, err
	}
	switch begin = begin[:n]; {
	case bytes.HasPrefix(begin, []byte("SQLite format 3\x00")):
		return databaseFile, nil
	case bytes.HasPrefix(begin, []byte(`{"agentrec":`)):
		return textFile, nil
	}
	return plainFile, nil
}

func errIfDir(info os.FileInfo) error {
	if info != nil && info.IsDir() {
		return errors.New("it is a directory; name its files")
	}
	return nil
}

// checkPlain looks for secrets in a file of any kind, which is reported as name.
func checkPlain(path, name string, o *checkOptions, found func(Finding)) error {
	r, err := o.redactor(context.Background(), nil)
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return findIn(f, r, store.Err, func(offset int64, lines int, h redact.Hit) {
		level := LevelError
		if !h.Sure {
			level = LevelWarning
		}
		found(Finding{File: name, Line: lines + 1, Rule: "secrets/" + h.Kind, Level: level,
			Message: fmt.Sprintf("%s at byte %d, %s long", secretName(h), offset, count(h.End-h.Start, "byte"))})
	})
}

// placeOf returns the path of the value that the byte at offset belongs to, ""
// when the frame is not JSON or the byte belongs to a key.
func placeOf(raw []byte, offset int) string {
	start := -1
	for i := 0; i < len(raw) && i <= offset; i++ {
		switch c := raw[i]; {
		case c == '"':
			start = i
			for i++; i < len(raw) && raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
		case strings.IndexByte(" \t\r\n:,{}[]", c) >= 0:
			start = -1
		case start < 0:
			start = i
		}
	}
	if start < 0 || !dialect.Valid(raw) {
		return ""
	}
	return transcript.JoinPath(transcript.PlaceAt(raw, start))
}
