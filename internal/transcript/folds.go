package transcript

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// show files a frame under what it shows.
func (t *Transcript) show(e *Entry, f store.Frame, x *dialect.Reading, l *lane, k *Link) {
	kind := x.Shows
	answered := KindNone // the item of the request that this frame answers
	if k != nil {
		q := t.Entries[k.Request.Seq-1]
		answered = KindOf(q)
		if kind == dialect.ShowsNothing || kind == dialect.ShowsError {
			switch answered {
			case KindCall:
				kind = dialect.ShowsResult
			case KindPermission:
				kind = dialect.ShowsAnswer
			}
		}
	}
	if e.Shows == 0 {
		e.Shows = toShows(kind)
	}
	if answered == KindCall && kind != dialect.ShowsResult {
		t.goesOn(l, t.Entries[k.Request.Seq-1].Part-1, x.CallID)
	}
	t.late(e, f, kind, l)
	if kind != dialect.ShowsNothing && kind != dialect.ShowsLog && !folds(kind) {
		l.breakFolds(foldKey{})
	}
	switch kind {
	case dialect.ShowsPrompt:
		t.prompt(e, f.Seq, x, l)
		t.text(e, f, x, l, kind)
	case dialect.ShowsText, dialect.ShowsThought, dialect.ShowsPlan:
		t.text(e, f, x, l, kind)
	case dialect.ShowsCall:
		t.call(e, f, x, l)
	case dialect.ShowsResult:
		t.result(e, f, x, l, k)
	case dialect.ShowsLog:
		if x.Delta || x.Snapshot {
			t.delta(e, f, x, l, foldKey{toShows(kind), Clip(x.Part, maxName)})
			break
		}
		t.item(KindOf(*e), int32(f.Seq))
	case dialect.ShowsPermission:
		t.item(KindOf(*e), int32(f.Seq))
	case dialect.ShowsAnswer:
		if k == nil {
			t.item(KindOf(*e), int32(f.Seq))
		}
	case dialect.ShowsGreeting:
		if t.Agent == "" {
			t.Agent = strings.Clone(Clip(x.Text, maxName))
		}
		t.item(KindOf(*e), int32(f.Seq))
	case dialect.ShowsNothing:
		if x.Role == dialect.Request || x.Role == dialect.Cancel {
			t.item(KindOf(*e), int32(f.Seq))
		}
	}
	if x.Rule != nil && x.Rule.Turn && kind != dialect.ShowsPrompt {
		t.prompt(e, f.Seq, x, l)
	}
	ended := false
	if x.Ends || kind == dialect.ShowsEnd || k != nil && t.answersTurn(k.Request.Seq) {
		ended = t.end(e, f, x, l, k)
	}
	switch {
	case ended || kind == dialect.ShowsEnd:
		t.item(KindEnd, int32(f.Seq))
	case kind == dialect.ShowsError && answered != KindRequest:
		t.item(KindError, int32(f.Seq))
	}
}

// late takes what an agent says and does after the end of a turn, and before
// the next one, into the turn that it belongs to: rpi's response to a prompt
// overtakes the last events, and ACP allows updates after the end.
func (t *Transcript) late(e *Entry, f store.Frame, kind dialect.Shows, l *lane) {
	switch kind {
	case dialect.ShowsText, dialect.ShowsThought, dialect.ShowsPlan, dialect.ShowsCall, dialect.ShowsResult:
		if e.Turn == 0 && f.Stream == store.Out && e.Role == dialect.Notification {
			e.Turn = l.last
		}
	}
}

// folds reports whether deltas of this kind are joined.
func folds(kind dialect.Shows) bool {
	return kind == dialect.ShowsText || kind == dialect.ShowsThought || kind == dialect.ShowsPlan || kind == dialect.ShowsPrompt
}

// maxRecent is among how many joined texts a whole is looked for that names no
// part.
const maxRecent = 16

// fold returns the open run of a key as index + 1, 0 when there is none.
func (l *lane) fold(key foldKey) int32 {
	if key.part == "" {
		return l.loose[key.shows]
	}
	return l.parts[key]
}

func (l *lane) openFold(key foldKey, n int32) {
	if key.part == "" {
		l.loose[key.shows] = n
	} else {
		l.parts[key] = n
	}
	if l.recent = append(l.recent, n); len(l.recent) > 2*maxRecent {
		l.recent = append(l.recent[:0], l.recent[maxRecent:]...)
	}
}

func (l *lane) closeFold(key foldKey) {
	if key.part == "" {
		delete(l.loose, key.shows)
	} else {
		delete(l.parts, key)
	}
}

func (l *lane) closeFolds() {
	clear(l.loose)
	clear(l.parts)
	l.recent = l.recent[:0]
}

// breakFolds ends the runs that nothing but their place holds together, but
// for the one of key.
func (l *lane) breakFolds(key foldKey) {
	for other := range l.loose {
		if other != key.shows || key.part != "" {
			delete(l.loose, other)
		}
	}
}

// text takes a text: a delta, the whole that ends a run of deltas, or one that
// stands alone.
func (t *Transcript) text(e *Entry, f store.Frame, x *dialect.Reading, l *lane, kind dialect.Shows) {
	key := foldKey{toShows(kind), Clip(x.Part, maxName)}
	switch {
	case x.Delta, x.Snapshot:
		l.breakFolds(key)
		t.delta(e, f, x, l, key)
	default:
		if n := t.repeats(l, key, x.Text); n > 0 {
			d := &t.Folds[n-1]
			d.Whole, d.End = f.Seq, f.Time
			e.Part = n
			e.Flags |= InFold
			l.closeFold(foldKey{key.shows, d.Part})
			return
		}
		l.breakFolds(foldKey{})
		l.closeFold(key)
		if x.Text != "" || x.Args != "" || kind == dialect.ShowsPrompt {
			t.item(KindOf(*e), int32(f.Seq))
		}
	}
}

func (t *Transcript) delta(e *Entry, f store.Frame, x *dialect.Reading, l *lane, key foldKey) {
	n := l.fold(key)
	if n == 0 {
		t.Folds = append(t.Folds, Fold{
			Shows: key.shows, Stream: f.Stream, Conversation: e.Conversation, Turn: e.Turn,
			Part: strings.Clone(key.part), First: f.Seq, Start: f.Time, item: int32(len(t.items)),
		})
		n = int32(len(t.Folds))
		t.item(KindFold, n-1)
		l.openFold(foldKey{key.shows, t.Folds[n-1].Part}, n)
	}
	d := &t.Folds[n-1]
	d.Last, d.End = f.Seq, f.Time
	d.Frames++
	if x.Snapshot {
		t.pass.text -= int64(len(d.text))
		d.text, d.Size, d.grams = d.text[:0], 0, nil
	}
	if int64(len(d.text)) == d.Size {
		room := min(maxFold-len(d.text), maxText-int(t.pass.text))
		part := Clip(x.Text, max(0, room))
		d.text = append(d.text, part...)
		t.pass.text += int64(len(part))
	}
	t.long(d, x.Text)
	d.Size += int64(len(x.Text))
	if x.Snapshot && key.part == "" {
		l.closeFold(key) // it ends the run
	}
	e.Part = n
	e.Flags |= InFold
}

// long notes what a text holds that outgrows what is kept of it; part is its
// next part, which may be kept already.
func (t *Transcript) long(d *Fold, part string) {
	switch {
	case d.grams != nil:
		part = string(d.tail[:]) + part
	case d.Size+int64(len(part)) <= maxFold || int64(len(d.text)) < d.Size || t.pass.long >= maxLong:
		return
	default:
		d.grams = &grams{}
		t.pass.long++
		part = string(d.text[:d.Size]) + part
	}
	d.grams.add([]byte(part))
	copy(d.tail[:], part[max(0, len(part)-2):])
}

// FoldMay reports whether a needle may be in the whole text of a fold.
func (t *Transcript) FoldMay(fold int, n Needle) bool {
	d := &t.Folds[fold]
	return d.grams == nil || n.may(d.grams)
}

// repeats finds the open fold that a whole text repeats: the one of the same
// part, or else the oldest of the recent ones with the same text. The result is
// an index + 1.
func (t *Transcript) repeats(l *lane, key foldKey, text string) int32 {
	if n := l.parts[key]; n > 0 && key.part != "" {
		return n
	}
	for _, n := range l.recent[max(0, len(l.recent)-maxRecent):] {
		d := &t.Folds[n-1]
		if d.Shows == key.shows && l.fold(foldKey{d.Shows, d.Part}) == n && int64(len(text)) == d.Size && strings.HasPrefix(text, string(d.text)) {
			return n
		}
	}
	return 0
}

// FoldText returns the whole text of a fold, cut after at most limit bytes. It
// reads the store when the text is longer than what is kept.
func (t *Transcript) FoldText(ctx context.Context, fold, limit int) (string, error) {
	d := &t.Folds[fold]
	if text, whole := d.Text(); whole || limit <= len(text) {
		return Clip(text, limit), nil
	}
	var b bytes.Buffer
	for f, err := range t.Session.Frames(ctx, d.First, d.Last) {
		if err != nil {
			return "", fmt.Errorf("reading frames %d to %d: %w", d.First, d.Last, err)
		}
		if e := t.Entries[f.Seq-1]; !e.Flags.Has(InFold) || int(e.Part) != fold+1 || f.Raw == nil {
			continue
		}
		r := t.Dialect.Read(f.Stream, f.Raw)
		each(&r, func(_ int, x *dialect.Reading) {
			if toShows(x.Shows) != d.Shows {
				return
			}
			if x.Snapshot {
				b.Reset()
			}
			if x.Delta || x.Snapshot {
				b.WriteString(x.Text)
			}
		})
	}
	return Clip(b.String(), limit), nil
}
