package inspect

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"agentrec/internal/dialect"
	"agentrec/internal/printable"
	"agentrec/internal/tape"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// Defaults of every command that reads a recording.
const (
	envFile     = "AGENTREC_DB"
	defaultFile = "session.db"
)

// fileOf returns the recording that args name: its first word, or
// $AGENTREC_DB, or session.db in the working directory.
func fileOf(args []string, getenv func(string) string) string {
	if len(args) > 0 {
		return args[0]
	}
	if file := getenv(envFile); file != "" {
		return file
	}
	return defaultFile
}

// look is one session opened for reading.
type look struct {
	Path    string
	DB      *store.DB
	Session *store.Session
	Dialect *dialect.Dialect

	several bool       // the recording holds other sessions too
	llm     *exchanges // read already; see exchanges
	derived *transcript.Transcript
}

// transcript derives the transcript of the session, once.
func (l *look) transcript(ctx context.Context) (*transcript.Transcript, error) {
	if l.derived == nil {
		t, err := transcript.Open(ctx, l.Session, l.Dialect)
		if err != nil {
			return nil, err
		}
		l.derived = t
	}
	return l.derived, nil
}

// exchanges reads the LLM exchanges of the session, once.
func (l *look) exchanges(ctx context.Context) (*exchanges, error) {
	if l.llm == nil {
		x := &exchanges{session: l.Session}
		if _, err := x.extend(ctx); err != nil {
			return nil, err
		}
		l.llm = x
	}
	return l.llm, nil
}

// openLook opens the session of path that sel names (see store.DB.Find).
// dialectName overrides the recorded dialect when not empty. The caller calls
// Close.
func openLook(ctx context.Context, path, sel, dialectName string) (*look, error) {
	db, err := tape.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	s, err := db.Find(ctx, sel)
	if err != nil {
		db.Close()
		return nil, err
	}
	d, err := transcript.DialectOf(ctx, s, dialectName)
	if err != nil {
		db.Close()
		return nil, err
	}
	all, err := db.Sessions(ctx)
	if err != nil {
		db.Close()
		return nil, err
	}
	return &look{Path: path, DB: db, Session: s, Dialect: d, several: len(all) > 1}, nil
}

// Close closes the recording.
func (l *look) Close() error { return l.DB.Close() }

// seqs is a range of frames: From to To, both included; To 0 is the end.
type seqs struct{ From, To int64 }

// parseSeqs reads the value of --seq: "12", "12-20", "12-", "-20". "" is all.
func parseSeqs(s string) (seqs, error) {
	if s == "" {
		return seqs{From: 1}, nil
	}
	wrong := fmt.Errorf("--seq %q: want a frame's number or a range of them, like 12 or 12-20", visibleCut(s, 40))
	from, to, isRange := strings.Cut(s, "-")
	r := seqs{From: 1}
	var err error
	if from != "" {
		if r.From, err = strconv.ParseInt(from, 10, 64); err != nil || r.From < 1 {
			return r, wrong
		}
	}
	if !isRange {
		if from == "" {
			return r, wrong
		}
		r.To = r.From
		return r, nil
	}
	if to != "" {
		if r.To, err = strconv.ParseInt(to, 10, 64); err != nil || r.To < r.From {
			return r, wrong
		}
	}
	if from == "" && to == "" {
		return r, wrong
	}
	return r, nil
}

// has reports whether seq is in the range.
func (r seqs) has(seq int64) bool { return seq >= r.From && (r.To == 0 || seq <= r.To) }

// head is how many bytes of a frame a list reads of a giant.
const head = 4 << 10

// headOf returns the frame's bytes, of a giant its first ones.
func headOf(ctx context.Context, s *store.Session, f store.Frame) ([]byte, error) {
	return headOfSize(ctx, s, f, head)
}

// headOfSize is headOf with another number of bytes.
func headOfSize(ctx context.Context, s *store.Session, f store.Frame, n int64) ([]byte, error) {
	if f.Raw != nil || f.Size == 0 {
		return f.Raw, nil
	}
	r, err := s.Reader(ctx, f.Seq)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, n))
	if err != nil {
		return nil, fmt.Errorf("reading frame %d: %w", f.Seq, err)
	}
	return b, nil
}

// shellWord quotes s for a POSIX shell where that is needed, so that a command
// can be pasted.
func shellWord(s string) string {
	plain := s != ""
	for _, r := range s {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:,+@%", r) || r >= 0xa0 && !printable.Deceives(r)) {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// warn tells people about something that did not stop the command.
func warn(w io.Writer, format string, args ...any) {
	fmt.Fprintf(w, "agentrec: %s\n", visible(fmt.Sprintf(format, args...)))
}
