package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	sqlite3 "modernc.org/sqlite/lib"
)

// Verdict says in one word what Verify found.
type Verdict string

// The verdicts, from good to bad.
const (
	Whole          Verdict = "whole"     // all is there and as it was recorded, to the end
	StillRecording Verdict = "recording" // all is there so far
	IsEdited       Verdict = "edited"    // all is there, but changed after it was recorded
	IsCut          Verdict = "cut"       // something was not recorded; what is there is as it was recorded
	Damaged        Verdict = "damaged"   // the store does not hold what was recorded
)

// Integrity is what Verify found out about a session.
type Integrity struct {
	Verdict   Verdict
	Text      string  // a sentence for people: what, where and why
	Seq       int64   // of cut: the last frame before the cut; of damaged: the first frame that is
	Frames    int64   // how many frames were read and are as recorded
	Exchanges int64   // how many exchanges are as recorded
	Flaws     []Flaw  // what is damaged, at most maxFlaws
	Lost      []Event // what was forwarded but not recorded
}

// Flaw is a damaged part of a session.
type Flaw struct {
	From, To int64 // frames, 0 when it is none
	Exchange int64 // 0 when it is none
	Text     string
}

const maxFlaws = 100

// Verify reads all of a session and compares it with its proof. The error is
// one of reading the file or of ctx; damage is in the result.
func Verify(ctx context.Context, s *Session) (*Integrity, error) {
	now := *s
	if err := now.Refresh(ctx); err != nil {
		return nil, err
	}
	v := &verifier{ctx: ctx, s: &now, out: &Integrity{}}
	if err := v.frames(); err != nil {
		return nil, fmt.Errorf("verifying session %d: %w", s.ID, err)
	}
	if err := v.exchanges(); err != nil {
		return nil, fmt.Errorf("verifying session %d: %w", s.ID, err)
	}
	events, err := now.Events(ctx)
	if err != nil {
		return nil, fmt.Errorf("verifying session %d: %w", s.ID, err)
	}
	v.judge(events)
	return v.out, nil
}

type verifier struct {
	ctx     context.Context
	s       *Session
	out     *Integrity
	chainer chainer
	chains  [Streams]Chain
	adrift  bool // after damage the chains are not known any more

	short *Exchange // the first of which something is not kept
}

func (v *verifier) flaw(from, to int64, format string, args ...any) {
	if len(v.out.Flaws) < maxFlaws {
		v.out.Flaws = append(v.out.Flaws, Flaw{From: from, To: to, Text: fmt.Sprintf(format, args...)})
	}
}

// frames reads all frames that the session's row counts.
func (v *verifier) frames() error {
	db, id, last := v.s.db, v.s.ID, v.s.Count()
	for seq := int64(1); seq <= last; {
		b, err := db.next(v.ctx, id, seq, last, true)
		if err == nil {
			err = v.ctx.Err()
		}
		switch {
		case isDamage(err):
			cause := err
			if seq, err = v.skip(seq, last, cause); isDamage(err) {
				v.flaw(seq, last, "frames %d to %d: %v", seq, last, cause)
				return nil
			}
			if err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		if u := b.chunk; u != nil {
			if u.first() != seq {
				v.flaw(seq, u.last, "frames %d to %d are stored twice", u.first(), seq-1)
			}
			for ; seq <= min(u.last, last); seq++ {
				if err := v.frame(u.frame(seq)); err != nil {
					return err
				}
			}
			if u.last <= last {
				v.chunk(u)
			}
			continue
		}
		if len(b.rows) == 0 {
			v.flaw(seq, last, "frames %d to %d are missing", seq, last)
			v.adrift = true
			return nil
		}
		for _, f := range b.rows {
			if err := v.frame(f); err != nil {
				return err
			}
			seq = f.Seq + 1
		}
	}
	if !v.adrift && v.chains != v.s.Chains {
		v.flaw(0, 0, "the frames do not fit the session's proof%s", v.differing(v.s.Chains))
	}
	return nil
}

// isDamage reports whether err says that stored bytes are not what they were.
func isDamage(err error) bool {
	return errors.Is(err, errDamaged) || code(err) == sqlite3.SQLITE_CORRUPT
}

// differing names the streams whose chains differ from want.
func (v *verifier) differing(want [Streams]Chain) string {
	text := ""
	for i, c := range v.chains {
		if c != want[i] {
			text += ", stream " + Stream(i).String()
		}
	}
	return text
}

// chunk compares the chains at the end of a chunk with those stored in it.
func (v *verifier) chunk(u *unpacked) {
	stored, err := unpackChains([]byte(u.chains))
	switch {
	case err != nil:
		v.flaw(u.first(), u.last, "the proof of frames %d to %d cannot be read", u.first(), u.last)
		v.adrift = true
		return
	case v.adrift:
		// Nothing is known of what stands before the chunk; go on with it.
		v.adrift = false
	case v.chains != stored:
		v.flaw(u.first(), u.last, "frames %d to %d are not as recorded: they do not fit their proof%s", u.first(), u.last, v.differing(stored))
	default:
		v.out.Frames = u.last
	}
	v.chains = stored
}

func (v *verifier) frame(f Frame) error {
	chain := &v.chains[f.Stream]
	if f.Raw != nil {
		v.chainer.add(chain, f.Raw, f.Term)
		return nil
	}
	h := chain.begin()
	r, err := v.s.Reader(v.ctx, f.Seq)
	var n int64
	if err == nil {
		n, err = io.Copy(h, r)
		r.Close()
	}
	if isDamage(err) {
		v.flaw(f.Seq, f.Seq, "frame %d: %v", f.Seq, err)
		v.adrift = true
		return nil
	}
	finish(h, chain, n, f.Term)
	return err
}

// skip notes damage at seq and returns where to go on.
func (v *verifier) skip(seq, last int64, cause error) (int64, error) {
	var id, end int64
	var chains []byte
	var row sql.NullInt64
	err := v.s.db.read(v.ctx, func(pool *pool) error {
		err := pool.QueryRowContext(v.ctx, `SELECT id, last, chains FROM chunk WHERE id BETWEEN ? AND ? AND last >= ? ORDER BY id LIMIT 1`,
			v.s.ID<<seqBits, v.s.ID<<seqBits|maxSeq, seq).Scan(&id, &end, &chains)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		return pool.QueryRowContext(v.ctx, "SELECT min(id) FROM frame WHERE id BETWEEN ? AND ?",
			v.s.ID<<seqBits|seq, v.s.ID<<seqBits|maxSeq).Scan(&row)
	})
	if err != nil {
		return seq, err
	}
	first := id & maxSeq
	switch {
	case id != 0 && first <= seq && end >= seq && end <= maxSeq: // a chunk that cannot be read
		v.flaw(seq, min(end, last), "%v", cause)
		v.adrift = true
		if c, err := unpackChains(chains); err == nil {
			v.chains, v.adrift = c, false
		}
		return end + 1, nil
	case id != 0 && first > seq && (!row.Valid || row.Int64&maxSeq > first): // a hole before a chunk
		v.flaw(seq, first-1, "frames %d to %d are missing", seq, first-1)
		v.adrift = true
		return first, nil
	case row.Valid && row.Int64&maxSeq > seq: // a hole before a row
		v.flaw(seq, row.Int64&maxSeq-1, "frames %d to %d are missing", seq, row.Int64&maxSeq-1)
		v.adrift = true
		return row.Int64 & maxSeq, nil
	}
	v.flaw(seq, seq, "%v", cause) // a row that cannot be read
	v.adrift = true
	return seq + 1, nil
}

// judge makes the verdict.
func (v *verifier) judge(events []Event) {
	s, out := v.s, v.out
	var lost [Streams]int64
	for _, e := range events {
		if e.Kind == EventLost {
			out.Lost = append(out.Lost, e)
			lost[e.Stream] += e.Bytes
		}
	}
	if s.State == Closed && s.Unredacted && !s.Edited {
		for i := range s.Wire {
			if missing := s.Wire[i] - s.Chains[i].Bytes - lost[i]; s.Wire[i] >= 0 && missing != 0 {
				v.flaw(0, 0, "%s: the recorder counted %d bytes, of which %d are stored and %d known as lost", Stream(i), s.Wire[i], s.Chains[i].Bytes, lost[i])
			}
		}
	}
	count := s.Count()
	switch {
	case len(out.Flaws) > 0:
		out.Verdict, out.Seq, out.Text = Damaged, out.Flaws[0].From, out.Flaws[0].Text
		if n := len(out.Flaws); n > 1 {
			out.Text += fmt.Sprintf(" (and %d more)", n-1)
		}
		return
	case s.State == Cut:
		out.Verdict, out.Seq = IsCut, count
		out.Text = fmt.Sprintf("ends after frame %d: %s", count, s.Reason)
		if s.Reason == "" {
			out.Text = fmt.Sprintf("ends after frame %d", count)
		}
	case len(out.Lost) > 0:
		e := out.Lost[0]
		out.Verdict, out.Seq = IsCut, e.After
		out.Text = fmt.Sprintf("%d bytes of %s were not recorded after frame %d", e.Bytes, e.Stream, e.After)
		if e.Detail != "" {
			out.Text += ": " + e.Detail
		}
		if n := len(out.Lost); n > 1 {
			out.Text += fmt.Sprintf(" (and %d more)", n-1)
		}
	case v.short != nil:
		out.Verdict, out.Seq = IsCut, v.short.After
		out.Text = fmt.Sprintf("%d bytes of exchange %d were not recorded", v.short.Omitted, v.short.Number)
	case s.State == Recording:
		out.Verdict, out.Text = StillRecording, fmt.Sprintf("still being recorded, %s so far", v.counted(count))
	case s.Edited:
		out.Verdict, out.Text = IsEdited, "edited after it was recorded"+s.edits()
	default:
		out.Verdict, out.Text = Whole, fmt.Sprintf("whole, closed cleanly, %s", v.counted(count))
	}
	if s.Edited && out.Verdict == IsCut {
		out.Text += "; edited after it was recorded" + s.edits()
	}
	out.Frames = count
}

// edits says what of an edited session is not as it was recorded, as far as its
// proofs tell: those of a stream are about all of it.
func (s *Session) edits() string {
	if s.Original == nil {
		return ""
	}
	var list []string
	for i, was := range s.Original {
		now := s.Chains[i]
		switch {
		case now == was:
		case now.Frames != was.Frames:
			list = append(list, fmt.Sprintf("%s has %s, and had %d", Stream(i), frames(now.Frames), was.Frames))
		default:
			list = append(list, fmt.Sprintf("frames of %s differ", Stream(i)))
		}
	}
	if s.originalExchanges != nil && *s.originalExchanges != s.exchangeChain {
		list = append(list, "exchanges differ")
	}
	if len(list) == 0 {
		return ""
	}
	return ": " + strings.Join(list, ", ")
}

// counted says for people what was read.
func (v *verifier) counted(n int64) string {
	switch v.s.Exchanged {
	case 0:
		return frames(n)
	case 1:
		return frames(n) + ", 1 exchange"
	}
	return frames(n) + ", " + strconv.FormatInt(v.s.Exchanged, 10) + " exchanges"
}

// frames counts for people.
func frames(n int64) string {
	if n == 1 {
		return "1 frame"
	}
	return strconv.FormatInt(n, 10) + " frames"
}
