package inspect

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"time"

	"agentrec/internal/dialect"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// part is a line of the text form: a frame, a lifecycle event or an exchange.
type part struct {
	Key   frameKey
	Gap   time.Duration // since the part before
	Frame *store.Frame
	Event *store.Event

	Exchange *store.Exchange
}

// partsOf yields the frames, events and exchanges of a session in order. A giant's key is
// the hash of its bytes.
func partsOf(ctx context.Context, s *store.Session, d *dialect.Dialect) iter.Seq2[part, error] {
	return func(yield func(part, error) bool) {
		events, err := s.Events(ctx)
		if err != nil {
			yield(part{}, err)
			return
		}
		last := time.Duration(0)
		emit := func(p part, at time.Duration) bool {
			p.Gap, last = at-last, at
			return yield(p, nil)
		}
		next, stop := iter.Pull2(s.Exchanges(ctx))
		defer stop()
		x, err, more := next()
		before := func(seq int64) bool {
			for {
				event := len(events) > 0 && (seq == 0 || events[0].After < seq)
				exchange := more && (err != nil || seq == 0 || x.After < seq)
				switch {
				case !event && !exchange:
					return true
				case err != nil:
					yield(part{}, err)
					return false
				case exchange && (!event || x.After < events[0].After || x.After == events[0].After && x.Time < events[0].Time):
					own := x
					if !emit(part{Key: exchangeKey(&own), Exchange: &own}, own.Time) {
						return false
					}
					x, err, more = next()
				default:
					e := events[0]
					events = events[1:]
					if !emit(part{Key: eventKey(&e), Event: &e}, e.Time) {
						return false
					}
				}
			}
		}
		for f, err := range s.Frames(ctx, 1, 0) {
			if err != nil {
				yield(part{}, err)
				return
			}
			if !before(f.Seq) {
				return
			}
			key, err := keyOfAny(ctx, s, d, f)
			if err != nil {
				yield(part{}, err)
				return
			}
			if !emit(part{Key: key, Frame: &f}, f.Time) {
				return
			}
		}
		before(0)
	}
}

func keyOfAny(ctx context.Context, s *store.Session, d *dialect.Dialect, f store.Frame) (frameKey, error) {
	if f.Raw != nil || f.Size == 0 {
		return keyOf(d, f), nil
	}
	r, err := s.Reader(ctx, f.Seq)
	if err != nil {
		return frameKey{}, err
	}
	defer r.Close()
	h := sha256.New()
	h.Write([]byte{byte(f.Stream), byte(f.Term), 'g'})
	if _, err := io.Copy(h, r); err != nil {
		return frameKey{}, fmt.Errorf("reading frame %d: %w", f.Seq, err)
	}
	return frameKey(h.Sum(nil)[:16]), nil
}

// eventKey is what two events have in common that say the same; when they
// happened is not part of it.
func eventKey(e *store.Event) frameKey {
	text := fmt.Sprintf("e%s\x00%s\x00%s\x00%d\x00%s", e.Kind, e.Stream, e.Signal, e.Bytes, e.Detail)
	if e.Exit != nil {
		text += "\x00" + strconv.Itoa(e.Exit.Code) + e.Exit.Signal
	}
	return sum16([]byte(text))
}

// Onto makes a session in temp that is now with what it says in common with old
// in old's own bytes, as export --onto does.
func Onto(ctx context.Context, temp *store.DB, now, old *store.Session) (*store.Session, error) {
	d, err := transcript.Detect(ctx, now, dialect.Set{})
	if err != nil {
		return nil, err
	}
	return layOnto(ctx, temp, now, old, d)
}

// exchangeKey is what two exchanges have in common that say the same: request and
// answer, but not their headers and times, nor how the answer was cut in pieces.
func exchangeKey(x *store.Exchange) frameKey {
	h := sha256.New()
	fmt.Fprintf(h, "x%s\x00%s\x00%d\x00", x.Method, x.URL, len(x.Body))
	h.Write(x.Body)
	fmt.Fprintf(h, "\x00%d\x00%s\x00%s\x00", x.Status, x.End, x.Error)
	for _, p := range x.Pieces {
		h.Write(p.Bytes)
	}
	return frameKey(h.Sum(nil)[:16])
}

// layOnto makes a session in temp that is now with what it says in common with
// old in old's own bytes, gaps and ids, so that their text forms differ where
// the conversations differ. The header and the end are now's.
func layOnto(ctx context.Context, temp *store.DB, now, old *store.Session, d *dialect.Dialect) (*store.Session, error) {
	runs, err := runsOf(ctx, old, d)
	if err != nil {
		return nil, fmt.Errorf("reading session %d: %w", old.ID, err)
	}
	keys := func(s *store.Session) ([]frameKey, error) {
		var list []frameKey
		for p, err := range runs.order(partsOf(ctx, s, d)) {
			if err != nil {
				return nil, fmt.Errorf("reading session %d: %w", s.ID, err)
			}
			list = append(list, p.Key)
		}
		return list, nil
	}
	a, err := keys(now)
	if err != nil {
		return nil, err
	}
	b, err := keys(old)
	if err != nil {
		return nil, err
	}
	w, err := temp.Begin(ctx, store.Start{
		UID: now.UID, Name: now.Name, Tags: now.Tags, Started: now.Started, Host: now.Host, Cwd: now.Cwd, Folders: now.Folders, Argv: now.Argv,
		Version: now.Version, Dialect: now.Dialect, Unredacted: now.Unredacted, Edited: now.Edited, Parent: now.Parent,
	})
	if err != nil {
		return nil, err
	}
	l := layer{ctx: ctx, w: w, dialect: d, now: now, old: old, runs: runs, ids: newRenaming()}
	if err := l.ids.reserve(ctx, d, old); err != nil {
		return nil, err
	}
	if err := l.lay(transcript.Align(a, b)); err != nil {
		return nil, err
	}
	end := store.End{State: now.State, Reason: now.Reason, Ended: l.at + l.endGap(), Exit: now.Exit, Wire: now.Wire}
	if end.State == store.Recording {
		end.State, end.Reason = store.Cut, "exported while it was being recorded"
	}
	for i := range end.Wire {
		if end.Wire[i] >= 0 {
			end.Wire[i] += l.more[i]
		}
	}
	if err := w.Close(ctx, end); err != nil {
		return nil, err
	}
	return w.Session(), nil
}

// layer writes the parts of one session over those of another.
type layer struct {
	ctx      context.Context
	w        *store.Writer
	dialect  *dialect.Dialect
	now, old *store.Session
	runs     eventRuns // of old
	ids      *renaming
	at       time.Duration // of the last part written
	nowAt    time.Duration // of the last part of now
	oldAt    time.Duration // of the last part of old
	oldEnd   bool          // the last part of old was kept
	more     [store.Streams]int64
	pending  int64
}

// lay writes now's parts; match has for each the partner in old, or -1.
func (l *layer) lay(match []int) error {
	next, stop := iter.Pull2(partsOf(l.ctx, l.old, l.dialect))
	defer stop()
	i, at := 0, -1 // part of now, part of old read last
	for p, err := range l.runs.order(partsOf(l.ctx, l.now, l.dialect)) {
		if err != nil {
			return err
		}
		l.nowAt += p.Gap
		var partner *part
		for match[i] > at {
			q, err, ok := next()
			if !ok || err != nil {
				return errors.Join(errors.New("reading the old session again"), err)
			}
			at++
			l.oldAt += q.Gap
			partner = &q
		}
		i++
		if err := l.part(p, partner); err != nil {
			return err
		}
	}
	_, _, more := next()
	l.oldEnd = !more && len(match) > 0 && match[len(match)-1] >= 0
	return nil
}

func (l *layer) part(p part, partner *part) error {
	gap := p.Gap
	session := l.now
	if partner != nil {
		gap = partner.Gap
	}
	l.at += gap
	if p.Event != nil {
		e := *p.Event
		e.Time = l.at
		l.w.Event(e)
		return nil
	}
	if p.Exchange != nil {
		x := *p.Exchange
		if partner != nil {
			x = *partner.Exchange
		}
		return l.exchange(x)
	}
	f := *p.Frame
	if partner != nil && l.ids.accept(l.dialect, *p.Frame, *partner.Frame) {
		f, session = *partner.Frame, l.old
	} else if f.Raw != nil {
		f.Raw = l.ids.apply(l.dialect, f)
		f.Size = int64(len(f.Raw))
	}
	l.more[f.Stream] += f.Wire() - p.Frame.Wire()
	return l.frame(session, f)
}

// exchange writes an exchange at the place and time at hand.
func (l *layer) exchange(x store.Exchange) error {
	shift := l.at - x.Time
	x.Number, x.After, x.Time = 0, l.w.Last(), l.at
	x.Answered, x.Ended = x.Answered+shift, x.Ended+shift
	x.Pieces = slices.Clone(x.Pieces)
	for i := range x.Pieces {
		x.Pieces[i].Time += shift
	}
	l.w.Exchange(x)
	return l.weigh(x.Sent + x.Received)
}

// commitEvery bounds what is held in memory, in bytes.
const commitEvery = 4 << 20

func (l *layer) frame(s *store.Session, f store.Frame) error {
	if f.Raw != nil || f.Size == 0 {
		l.w.Frame(f.Stream, l.at, f.Raw, f.Term)
		return l.weigh(f.Size)
	}
	return copyGiantTo(l.ctx, l.w, s, f, l.at)
}

// weigh commits when there is much to commit.
func (l *layer) weigh(n int64) error {
	if l.pending += n; l.pending < commitEvery {
		return nil
	}
	l.pending = 0
	return l.w.Commit(l.ctx, nil)
}

// copyGiantTo writes the bytes of a giant into another session.
func copyGiantTo(ctx context.Context, w *store.Writer, s *store.Session, f store.Frame, at time.Duration) error {
	r, err := s.Reader(ctx, f.Seq)
	if err != nil {
		return err
	}
	defer r.Close()
	buf := make([]byte, 1<<20)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if err := w.Part(f.Stream, buf[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("reading frame %d: %w", f.Seq, err)
		}
	}
	_, err = w.EndParts(f.Stream, at, f.Term)
	return err
}

// endGap is the time from the last part to the end: old's when the last parts
// are the same.
func (l *layer) endGap() time.Duration {
	if l.oldEnd {
		return max(l.old.Ended-l.oldAt, 0)
	}
	return max(l.now.Ended-l.nowAt, 0)
}

// renaming gives the ids of one recording the names they had in another.
type renaming struct {
	to   map[slotValue]string // new token -> old token
	from map[slotValue]string // old token -> new token
	used map[slotValue]bool   // tokens of the old recording
	next map[string]int64     // the next free number of a namespace
}

type slotValue struct{ space, token string }

func newRenaming() *renaming {
	return &renaming{to: map[slotValue]string{}, from: map[slotValue]string{}, used: map[slotValue]bool{}, next: map[string]int64{}}
}

// reserve notes the ids of the old recording: a new id must not take one.
func (r *renaming) reserve(ctx context.Context, d *dialect.Dialect, old *store.Session) error {
	for f, err := range old.Frames(ctx, 1, 0) {
		if err != nil {
			return fmt.Errorf("reading the ids of session %d: %w", old.ID, err)
		}
		for _, s := range d.Slots(f.Stream, f.Raw) {
			token := string(f.Raw[s.Start:s.End])
			r.used[slotValue{s.Namespace, token}] = true
			if n, err := strconv.ParseInt(token, 10, 64); err == nil && n < 1<<52 {
				r.next[s.Namespace] = max(r.next[s.Namespace], n+1)
			}
		}
	}
	return nil
}

// accept reports whether old can stand for now: whether every id of now can
// have the name it has in old. If so, it has from here on.
func (r *renaming) accept(d *dialect.Dialect, now, old store.Frame) bool {
	a, b := d.Slots(now.Stream, now.Raw), d.Slots(old.Stream, old.Raw)
	if len(a) != len(b) {
		return false
	}
	type pair struct{ now, old slotValue }
	var pairs []pair
	to, from := map[slotValue]string{}, map[slotValue]string{}
	// Slots stand in the order of the frame's bytes, which may differ: equal
	// frames are compared member by member only when their order is the same.
	for i := range a {
		if a[i].Namespace != b[i].Namespace {
			return false
		}
		p := pair{
			slotValue{a[i].Namespace, string(now.Raw[a[i].Start:a[i].End])},
			slotValue{b[i].Namespace, string(old.Raw[b[i].Start:b[i].End])},
		}
		if t, ok := first(to, r.to, p.now); ok && t != p.old.token {
			return false
		}
		if t, ok := first(from, r.from, p.old); ok && t != p.now.token {
			return false
		}
		to[p.now], from[p.old] = p.old.token, p.now.token
		pairs = append(pairs, p)
	}
	for _, p := range pairs {
		r.to[p.now], r.from[p.old] = p.old.token, p.now.token
	}
	return true
}

func first(a, b map[slotValue]string, k slotValue) (string, bool) {
	if v, ok := a[k]; ok {
		return v, true
	}
	v, ok := b[k]
	return v, ok
}

// apply returns a new frame with its ids as the old recording names them. An id
// that is new, but taken there, gets a free name.
func (r *renaming) apply(d *dialect.Dialect, f store.Frame) []byte {
	return replaceSlots(f.Raw, d.Slots(f.Stream, f.Raw), func(s dialect.Slot, token string) []byte {
		v := slotValue{s.Namespace, token}
		t, ok := r.to[v]
		if !ok {
			t = r.free(v)
			r.to[v], r.from[slotValue{s.Namespace, t}] = t, token
		}
		if t == token {
			return nil
		}
		return []byte(t)
	})
}

// free returns the token itself, or one of its kind that is not taken.
func (r *renaming) free(v slotValue) string {
	if !r.used[v] && r.from[v] == "" {
		return v.token
	}
	if _, err := strconv.ParseInt(v.token, 10, 64); err == nil {
		n := r.next[v.space]
		r.next[v.space]++
		return strconv.FormatInt(n, 10)
	}
	var text string
	if json.Unmarshal([]byte(v.token), &text) != nil {
		return v.token
	}
	for n := 2; ; n++ {
		b, err := json.Marshal(text + "-" + strconv.Itoa(n))
		if err != nil {
			return v.token
		}
		if t := (slotValue{v.space, string(b)}); !r.used[t] && r.from[t] == "" {
			return t.token
		}
	}
}
