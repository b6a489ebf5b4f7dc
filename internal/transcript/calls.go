package transcript

import (
	"strings"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// maxSearch bounds the search among open calls for one that a result without
// an id may belong to.
const maxSearch = 1024

// call takes a frame that announces a tool call, or says more about one.
func (t *Transcript) call(e *Entry, f store.Frame, x *dialect.Reading, l *lane) {
	id := callID(e, x)
	i, ok := l.find(id, x.Together)
	if !ok && x.CallID == "" && x.Together == "" && (x.Delta || x.Snapshot) {
		i, ok = l.oldest(t, x.Name) // it says more about a call
	}
	if ok {
		c := &t.Calls[i]
		ok = c.Turn == e.Turn && (c.ResultSeq == 0 || x.Role != dialect.Request)
	}
	if !ok {
		i = t.newCall(e, f, x, l, id)
		l.open = append(l.open, i)
	}
	c := &t.Calls[i]
	if c.Name == "" {
		c.Name = strings.Clone(Clip(x.Name, maxName))
	}
	if x.Args != "" {
		c.ArgsSeq = f.Seq
	}
	t.attach(e, f, i)
}

// result takes a frame that brings a call's result, or a part of it.
func (t *Transcript) result(e *Entry, f store.Frame, x *dialect.Reading, l *lane, k *Link) {
	i, ok := t.resultOf(e, x, l, k)
	if !ok {
		i = t.newCall(e, f, x, l, callID(e, x))
	}
	c := &t.Calls[i]
	if x.Args != "" {
		c.ArgsSeq = f.Seq
	}
	t.attach(e, f, i)
	if x.Delta {
		return
	}
	c.Failed = c.Failed || x.Failed
	if c.ResultSeq > 0 {
		return
	}
	if x.Role == dialect.Response {
		if l.answered = append(l.answered, i); len(l.answered) > maxSearch {
			l.answered = l.answered[1:]
		}
	}
	c.ResultSeq, c.End = f.Seq, f.Time
	for n, o := range l.open[:min(len(l.open), maxSearch)] {
		if o == i {
			l.open = append(l.open[:n], l.open[n+1:]...)
			break
		}
	}
}

// resultOf finds the call that a result belongs to: by request, id or group,
// else the oldest open one of its name, else the newest of its name.
func (t *Transcript) resultOf(e *Entry, x *dialect.Reading, l *lane, k *Link) (int32, bool) {
	if k != nil {
		if q := t.Entries[k.Request.Seq-1]; q.Flags.Has(InCall) {
			return q.Part - 1, true
		}
	}
	if x.CallID != "" || x.Together != "" {
		if i, ok := l.find(Clip(x.CallID, maxName), x.Together); ok {
			return i, true
		}
		if x.CallID != "" {
			return 0, false
		}
	}
	// The agent may say itself how a call ended that the client has answered.
	for n, i := range l.answered {
		if c := &t.Calls[i]; x.Role == dialect.Notification && c.Turn == e.Turn && c.Name == x.Name {
			l.answered = append(l.answered[:n], l.answered[n+1:]...)
			return i, true
		}
	}
	if i, ok := l.oldest(t, x.Name); ok {
		return i, true
	}
	for i := len(t.Calls) - 1; i >= max(0, len(t.Calls)-maxSearch); i-- {
		c := &t.Calls[i]
		if c.Turn == e.Turn && c.Conversation == e.Conversation && (x.Name == "" || c.Name == x.Name) {
			return int32(i), true
		}
	}
	return 0, false
}

// oldest returns the oldest open call of a name, of any when it is "".
func (l *lane) oldest(t *Transcript, name string) (int32, bool) {
	for _, i := range l.open[:min(len(l.open), maxSearch)] {
		if name == "" || t.Calls[i].Name == name {
			return i, true
		}
	}
	return 0, false
}

// goesOn takes a response to a call that is no result and names an id: under
// that the call goes on, in another request.
func (t *Transcript) goesOn(l *lane, call int32, id string) {
	if id = Clip(id, maxName); id != "" {
		l.calls[strings.Clone(id)] = call
	}
}

func (l *lane) find(id, together string) (int32, bool) {
	if id != "" {
		if i, ok := l.calls[id]; ok {
			return i, true
		}
	}
	if together != "" {
		i, ok := l.groups[together]
		return i, ok
	}
	return 0, false
}

func (t *Transcript) newCall(e *Entry, f store.Frame, x *dialect.Reading, l *lane, id string) int32 {
	i := int32(len(t.Calls))
	t.Calls = append(t.Calls, Call{
		ID: strings.Clone(Clip(id, maxName)), Name: strings.Clone(Clip(x.Name, maxName)),
		Conversation: e.Conversation, Turn: e.Turn, Seq: f.Seq, Start: f.Time,
		item: int32(len(t.items)),
	})
	t.item(KindCall, i)
	if e.Turn > 0 {
		t.Turns[e.Turn-1].Calls++
	}
	if id != "" {
		l.calls[t.Calls[i].ID] = i
	}
	if x.Together != "" {
		clear(l.groups) // a group's frames stand close to each other
		l.groups[strings.Clone(x.Together)] = i
	}
	return i
}

func (t *Transcript) attach(e *Entry, f store.Frame, call int32) {
	t.Calls[call].LastSeq = f.Seq
	e.Part = call + 1
	e.Flags |= InCall
}

// callID returns the id of a call: the protocol's own, or that of the request
// that makes it.
func callID(e *Entry, x *dialect.Reading) string {
	if x.CallID == "" && x.Role == dialect.Request && x.ID != "" {
		return e.Stream.String() + ":" + string(x.ID)
	}
	return Clip(x.CallID, maxName)
}
