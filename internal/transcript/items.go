package transcript

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// Kind is what an item is to a reader.
type Kind uint8

// The kinds of items.
const (
	KindNone       Kind = iota
	KindPrompt          // what the user asked
	KindText            // the agent's answer
	KindThought         // the agent's thinking
	KindCall            // a tool call with its result
	KindPlan            // the agent's plan
	KindPermission      // a question to the user, with the answer
	KindAnswer          // an answer to no recorded question
	KindError           // an error
	KindEnd             // the end of a turn
	KindGreeting        // the agent names itself
	KindLog             // a log line of the protocol
	KindRequest         // any other request, with its response
	KindCancel          // a cancel
	KindRaw             // a line that the protocol does not know
	KindStderr          // a line of the agent's stderr
	KindEvent           // a lifecycle event
	KindFold            // in references only: a joined text
	KindExchange        // an LLM request with its answer
)

var kindNames = [...]string{
	"", "prompt", "text", "thought", "call", "plan", "permission", "answer", "error", "end", "greeting", "log",
	"request", "cancel", "raw", "stderr", "event", "fold", "exchange",
}

// String returns the kind's name, as filters and --json have it.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return ""
}

// KindOf returns the kind of item that a frame makes, KindNone when it makes
// none of its own.
func KindOf(e Entry) Kind {
	switch e.Shows.Is() {
	case dialect.ShowsPrompt:
		return KindPrompt
	case dialect.ShowsText:
		return KindText
	case dialect.ShowsThought:
		return KindThought
	case dialect.ShowsCall, dialect.ShowsResult:
		return KindCall
	case dialect.ShowsPlan:
		return KindPlan
	case dialect.ShowsPermission:
		return KindPermission
	case dialect.ShowsAnswer:
		return KindAnswer
	case dialect.ShowsError:
		return KindError
	case dialect.ShowsEnd:
		return KindEnd
	case dialect.ShowsGreeting:
		return KindGreeting
	case dialect.ShowsLog:
		return KindLog
	}
	switch {
	case e.Stream == store.Err:
		return KindStderr
	case e.Role == dialect.Raw:
		return KindRaw
	case e.Role == dialect.Request:
		return KindRequest
	case e.Role == dialect.Cancel:
		return KindCancel
	}
	return KindNone
}

// itemRef is an item in 8 bytes: index is a seq, or an index into Calls, Folds,
// Events or Exchanges.
type itemRef struct {
	index int32
	kind  Kind
}

// Item is one thing that a reader sees, without its text; Content reads that.
type Item struct {
	Kind         Kind
	Seq          int64         // its first frame; of an event or exchange the frame before it
	Last         int64         // its last frame
	Answer       int64         // the frame with the result, answer or response; 0 without
	Time         time.Duration // of Seq, or of the event or exchange
	Took         time.Duration // from the first frame to the answer or the last delta; -1 while that is missing, 0 for single frames
	Turn         int           // index into Turns; -1 outside
	Conversation string
	Label        string // of Seq
	Stream       store.Stream
	Frames       int64  // deltas of a joined text, else 1
	Size         int64  // bytes: of a joined text, else of the frame
	ID, Name     string // of a call
	Failed       bool
	Event        *store.Event    // of an event
	Exchange     *store.Exchange // of an exchange, without bodies

	ref itemRef
}

// Content is what an item says.
type Content struct {
	Text   string // prompt, text, thought, error, ...; of a call its result
	Args   string // raw JSON: of a call its arguments, of a request the frame, of a plan its steps
	Answer string // of a permission the answer, of a request the raw response
	Cut    bool   // something was longer than the limit
}

func (t *Transcript) item(kind Kind, index int32) { t.items = append(t.items, itemRef{index, kind}) }

// Len returns the number of items.
func (t *Transcript) Len() int { return len(t.items) }

// Items yields the items in order.
func (t *Transcript) Items() iter.Seq2[int, Item] {
	return func(yield func(int, Item) bool) {
		for i := range t.items {
			if !yield(i, t.Item(i)) {
				return
			}
		}
	}
}

// Item returns the item with index i.
func (t *Transcript) Item(i int) Item {
	ref := t.items[i]
	switch ref.kind {
	case KindEvent:
		e := &t.Events[ref.index]
		return Item{Kind: KindEvent, Seq: e.After, Last: e.After, Time: e.Time, Turn: -1, Stream: e.Stream, Event: e, ref: ref}
	case KindExchange:
		return t.exchangeItem(ref)
	case KindCall:
		c := &t.Calls[ref.index]
		it := t.frameItem(ref, c.Seq)
		it.Last, it.Answer, it.Took = c.LastSeq, c.ResultSeq, c.Took()
		it.ID, it.Name, it.Failed = c.ID, c.Name, c.Failed
		return it
	case KindFold:
		d := &t.Folds[ref.index]
		it := t.frameItem(ref, d.First)
		it.Last, it.Took, it.Frames, it.Size = max(d.Last, d.Whole), d.End-d.Start, d.Frames, d.Size
		return it
	}
	seq := int64(ref.index)
	it := t.frameItem(ref, seq)
	if e := t.Entries[seq-1]; e.Role == dialect.Request {
		it.Answer, it.Took = int64(e.Pair), t.Took(seq)
		if e.Pair > 0 {
			if it.Kind != KindPrompt {
				it.Last = int64(e.Pair)
			}
			it.Failed = it.Failed || t.Entries[e.Pair-1].Flags.Has(Failed)
		}
	}
	return it
}

func (t *Transcript) frameItem(ref itemRef, seq int64) Item {
	e := t.Entries[seq-1]
	it := Item{
		Kind: ref.kind, Seq: seq, Last: seq, Time: e.Time, Turn: int(e.Turn) - 1, Conversation: t.Conversation(e.Conversation),
		Label: t.Label(e), Stream: e.Stream, Frames: 1, Size: int64(e.Size), Failed: e.Flags.Has(Failed), ref: ref,
	}
	if it.Kind == KindFold {
		it.Kind = KindOf(e)
	}
	return it
}

// ItemAt returns the index of the item that a frame belongs to: its own, that
// of its call, joined text or request, or else the last one before it; -1 when
// there is none.
func (t *Transcript) ItemAt(seq int64) int {
	e, ok := t.Entry(seq)
	if !ok {
		return -1
	}
	switch {
	case e.Flags.Has(InCall):
		return int(t.Calls[e.Part-1].item)
	case e.Flags.Has(InFold):
		return int(t.Folds[e.Part-1].item)
	}
	i, found := t.position(seq)
	if !found && e.Role == dialect.Response && e.Pair > 0 {
		return t.ItemAt(int64(e.Pair))
	}
	if !found {
		for i--; i >= 0 && t.items[i].kind == KindExchange; i-- {
		}
	}
	return i
}

// position returns where the first item of a frame stands, or would stand, and
// whether there is one. Events and exchanges stand after their frame.
func (t *Transcript) position(seq int64) (int, bool) {
	return slices.BinarySearchFunc(t.items, seq, func(r itemRef, seq int64) int {
		order := cmp.Compare(t.firstSeq(r), seq)
		if order == 0 && (r.kind == KindEvent || r.kind == KindExchange) {
			return 1
		}
		return order
	})
}

func (t *Transcript) firstSeq(r itemRef) int64 {
	switch r.kind {
	case KindEvent:
		return t.Events[r.index].After
	case KindExchange:
		return t.placed[r.index]
	case KindCall:
		return t.Calls[r.index].Seq
	case KindFold:
		return t.Folds[r.index].First
	}
	return int64(r.index)
}

// Content reads what an item says from the store, each part cut after limit
// bytes. What an exchange says is its bodies', which it does not read.
func (t *Transcript) Content(ctx context.Context, it Item, limit int) (Content, error) {
	var c Content
	cut := func(s string) string {
		c.Cut = c.Cut || len(s) > limit
		return strings.Clone(Clip(s, limit))
	}
	switch it.ref.kind {
	case KindExchange:
		return c, nil
	case KindEvent:
		c.Text = it.Event.Detail
		return c, nil
	case KindFold:
		text, err := t.FoldText(ctx, int(it.ref.index), limit)
		c.Text, c.Cut = text, int64(len(text)) < it.Size
		return c, err
	}
	first, told := it.Seq, false // told: the call's arguments stand there
	if it.Kind == KindCall {
		if a := t.Calls[it.ref.index].ArgsSeq; a > 0 {
			first, told = a, true
		}
	}
	x, raw, err := t.reading(ctx, first, it.Kind, it.ID)
	if err != nil {
		return c, err
	}
	switch it.Kind {
	case KindRaw, KindStderr:
		c.Text = cut(raw)
		return c, nil
	case KindRequest, KindCancel:
		c.Args = cut(raw)
	case KindCall:
		if told || x.Shows == dialect.ShowsCall {
			c.Args = cut(x.Args)
		}
	case KindPermission:
		c.Text, c.Args = cut(x.Text), cut(x.Args)
		if x.CallID != "" && (x.Text == "" || x.Text == x.CallID) {
			text, err := t.titleOf(ctx, it, x.CallID)
			if err != nil {
				return c, err
			}
			c.Text = cut(text)
		}
	default:
		c.Text, c.Args = cut(x.Text), cut(x.Args)
	}
	if it.Answer == 0 {
		return c, nil
	}
	y, raw, err := t.reading(ctx, it.Answer, it.Kind, it.ID)
	if err != nil {
		return c, err
	}
	switch it.Kind {
	case KindCall:
		c.Text = cut(y.Text)
		if y.Text == "" && y.Shows == dialect.ShowsNothing {
			c.Text = cut(raw)
		}
	case KindPermission:
		c.Answer = cut(y.Text)
		if y.Text == "" {
			c.Answer = cut(raw)
		}
	case KindRequest:
		c.Answer = cut(raw)
	}
	return c, nil
}

// titleOf returns what the call that a permission is asked for is called: its
// title, or its tool, or else its id.
func (t *Transcript) titleOf(ctx context.Context, it Item, id string) (string, error) {
	for i := len(t.Calls) - 1; i >= 0; i-- {
		c := &t.Calls[i]
		if c.ID != Clip(id, maxName) || t.Conversation(c.Conversation) != it.Conversation {
			continue
		}
		x, _, err := t.reading(ctx, c.Seq, KindCall, c.ID)
		switch {
		case err != nil:
			return "", err
		case x.Text != "":
			return x.Text, nil
		case c.Name != "":
			return c.Name, nil
		}
		break
	}
	return id, nil
}

// reading reads a frame and returns the reading in it that makes an item of
// the kind (of the call with that id, if one is there), and its bytes; neither
// for a giant.
func (t *Transcript) reading(ctx context.Context, seq int64, kind Kind, id string) (dialect.Reading, string, error) {
	f, err := t.Session.Frame(ctx, seq)
	if err != nil {
		return dialect.Reading{}, "", fmt.Errorf("reading frame %d: %w", seq, err)
	}
	if f.Raw == nil {
		return dialect.Reading{}, "", nil
	}
	r := t.Dialect.Read(f.Stream, f.Raw)
	best := r
	found, exact := false, false
	each(&r, func(_ int, x *dialect.Reading) {
		if x.Shows == "" || KindOf(Entry{Stream: f.Stream, Shows: toShows(x.Shows)}) != kind {
			return
		}
		this := id != "" && Clip(x.CallID, maxName) == id
		if !found || this && !exact {
			best, found, exact = *x, true, this
		}
	})
	return best, string(f.Raw), nil
}
