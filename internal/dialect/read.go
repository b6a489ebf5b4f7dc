package dialect

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"agentrec/store"
)

// maxMembers bounds how many members of a batch are read.
const maxMembers = 1024

// The labels of frames that no table knows.
const (
	labelText  = "text"  // not JSON
	labelEmpty = "empty" // nothing but white space
	labelJSON  = "json"  // JSON that the table does not know
	labelBatch = "batch"
)

// batchRule stands for an array of frames, stdinRule for a line of a client's
// stream that is text and not frames.
var (
	batchRule = &Rule{Family: labelBatch, Role: Notification}
	stdinRule = &Rule{Family: "stdin", Role: Notification}
)

// Read reads one frame (without terminator). It never panics and never keeps
// raw. Frames of Err are always Raw.
func (d *Dialect) Read(stream store.Stream, raw []byte) Reading {
	if stream != store.In && stream != store.Out {
		return Reading{JSON: Valid(raw), Label: stream.String()}
	}
	if d.textInput && stream == store.In {
		return Reading{JSON: Valid(raw), Rule: stdinRule, Label: stdinRule.Family, Role: Notification, Shows: ShowsPrompt, Text: share(raw)}
	}
	scratch := d.scratch.Get().(*[]Span)
	defer d.scratch.Put(scratch)
	f := frame{raw: raw, spans: *scratch}
	if !d.tree.scan(raw, f.spans) {
		if space(raw, 0) == len(raw) {
			return Reading{Label: labelEmpty}
		}
		return Reading{Label: labelText}
	}
	if d.batch && isArray(raw) {
		return d.readBatch(stream, raw)
	}
	return d.read(stream, f)
}

// read reads a frame that has been scanned.
func (d *Dialect) read(stream store.Stream, f frame) Reading {
	r := d.rule(stream, f)
	if r == nil {
		return Reading{JSON: true, Label: labelJSON}
	}
	out := Reading{JSON: true, Rule: r, Role: r.Role, Shows: r.shows}
	out.Label = r.labelOf(f, d.labels)
	out.ID = token(r.id, f)
	out.Handle = token(r.handle, f)
	out.About = token(r.about, f)
	out.Target = token(r.target, f)
	if r.Role == Request && len(r.key) > 0 {
		out.Key, _ = r.key[0].key(f)
	}
	if r.Role == Response && out.ID == "" {
		for i := range r.answers {
			if key, ok := r.answers[i].key(f); ok {
				out.Answers = append(out.Answers, key)
			}
		}
	}
	out.Conversation = name(r.conversation, f)
	out.Opens = name(r.opens, f)
	out.Together = string(token(r.together, f))
	out.Ends = r.ends.of(f)
	out.Failed = r.failed.of(f)
	r.show(&out, f)
	if r.split != nil {
		out.Parts = d.readParts(stream, f, f.spans[r.split.slot])
	}
	if r.inner != nil {
		d.readInner(&out, f)
	}
	return out
}

// show fills what people see of a frame.
func (r *Rule) show(out *Reading, f frame) {
	if len(r.agent) > 0 {
		out.Agent = text(r.agent, f)
	}
	if r.usage != nil {
		out.Usage = r.usage.read(f)
	}
	if len(r.tool) > 0 {
		out.Name = text(r.tool, f)
	}
	if r.shows == ShowsNothing {
		return
	}
	out.Text = text(r.text, f)
	out.Delta = r.delta == deltaAppend
	out.Snapshot = r.delta == deltaReplace
	out.Part = text(r.part, f)
	out.CallID = text(r.call, f)
	out.Args = unquoted(r.args.get(f))
}

// readInner reads the frame within a frame and shows what it shows.
func (d *Dialect) readInner(out *Reading, f frame) {
	at := f.spans[out.Rule.inner.at.slot]
	if at.End == 0 {
		return
	}
	in := out.Rule.inner.dialect.Read(out.Rule.inner.stream, f.raw[at.Start:at.End])
	out.Inner = &in
	var room [2*maxLabel + 1]byte
	out.Label = d.labels.label(append(append(append(room[:0], out.Label...), '/'), in.Label...))
	if out.Shows == ShowsNothing {
		out.Shows, out.Text, out.Delta, out.Snapshot, out.Part = in.Shows, in.Text, in.Delta, in.Snapshot, in.Part
		out.CallID, out.Name, out.Args, out.Failed = in.CallID, in.Name, in.Args, in.Failed
		out.Usage, out.Agent = in.Usage, or(out.Agent, in.Agent)
	}
}

// readBatch reads an array of frames. It is a request when one of its members
// is, else a response when one is.
func (d *Dialect) readBatch(stream store.Stream, raw []byte) Reading {
	out := Reading{JSON: true, Rule: batchRule, Label: labelBatch, Role: Notification}
	eachMember(raw, func(s Span) bool {
		m := Reading{JSON: true, Label: labelJSON}
		if !isArray(raw[s.Start:s.End]) {
			m = d.Read(stream, raw[s.Start:s.End])
		}
		if m.Role == Request || m.Role == Response && out.Role != Request {
			out.Role = m.Role
		}
		out.Members = append(out.Members, m)
		return len(out.Members) < maxMembers
	})
	return out
}

// Members returns where the frames of a batch stand in it, those that Read reads;
// none of what is no array.
func Members(raw []byte) []Span {
	if !isArray(raw) || !Valid(raw) {
		return nil
	}
	var out []Span
	eachMember(raw, func(s Span) bool { out = append(out, s); return len(out) < maxMembers })
	return out
}

// eachMember calls do with the place of each element of the array raw.
func eachMember(raw []byte, do func(Span) bool) {
	for i := space(raw, 0); ; {
		i = space(raw, i+1) // after '[' or ','
		end := skip(raw, i, 1)
		if end < 0 || !do(Span{i, end}) {
			return
		}
		if i = space(raw, end); i >= len(raw) || raw[i] != ',' {
			return
		}
	}
}

// eachRule calls do with the rule of a frame, or of each member of a batch, and
// where the member begins.
func (d *Dialect) eachRule(stream store.Stream, raw []byte, do func(r *Rule, f frame, base int)) {
	if stream != store.In && stream != store.Out || d.textInput && stream == store.In {
		return
	}
	scratch := d.scratch.Get().(*[]Span)
	defer d.scratch.Put(scratch)
	f := frame{raw: raw, spans: *scratch}
	if !d.tree.scan(raw, f.spans) {
		return
	}
	if !d.batch || !isArray(raw) {
		if r := d.rule(stream, f); r != nil {
			do(r, f, 0)
		}
		return
	}
	n := 0
	eachMember(raw, func(s Span) bool {
		f.raw = raw[s.Start:s.End]
		if isArray(f.raw) || !d.tree.scan(f.raw, f.spans) {
			return true
		}
		if r := d.rule(stream, f); r != nil {
			do(r, f, s.Start)
		}
		n++
		return n < maxMembers
	})
}

// rule returns the first rule that fits a frame, nil when none does.
func (d *Dialect) rule(stream store.Stream, f frame) *Rule {
	rules, ok := d.byTag[stream][""], false
	if d.tag != nil {
		if t := d.tag.get(f); len(t) > 2 && t[0] == '"' {
			var some []*Rule
			if some, ok = d.byTag[stream][decode(t)]; ok {
				rules = some
			}
		}
	}
	for _, r := range rules {
		if hold(r.when, f) {
			return r
		}
	}
	return nil
}

// token returns an id as a token. Strings are compared by what they say and
// containers less their white space: an id comes back as its receiver writes it.
func token(p pick, f frame) Token {
	t := p.get(f)
	switch {
	case len(t) == 0:
		return ""
	case t[0] == '"' && bytes.IndexByte(t, '\\') >= 0:
		return Token(quote(decode(t)))
	case t[0] == '{' || t[0] == '[':
		var b bytes.Buffer
		if json.Compact(&b, t) == nil {
			return Token(b.String())
		}
	}
	return Token(share(t))
}

// name returns the value of an id: a string decoded, a number as it stands.
func name(p pick, f frame) string {
	t := p.get(f)
	if !bindable(t) {
		return ""
	}
	if t[0] == '"' {
		return decode(t)
	}
	return share(t)
}

func (u *usageRule) read(f frame) Usage {
	var out Usage
	var input, output, cached bool
	out.Input, input = count(u.input, f)
	out.Output, output = count(u.output, f)
	out.Cached, cached = count(u.cached, f)
	out.TokensSoFar = u.tokensSoFar && (input || output || cached)
	if t := u.cost.get(f); isKind(t, "number") {
		if c, err := strconv.ParseFloat(share(t), 64); err == nil && c >= 0 && !math.IsInf(c, 0) {
			out.Cost, out.CostSoFar = c, u.costSoFar
		}
	}
	return out
}

func count(p pick, f frame) (n int64, ok bool) {
	t := p.get(f)
	if !isKind(t, "number") {
		return 0, false
	}
	x, err := strconv.ParseFloat(share(t), 64)
	if err != nil || x < 0 || x > 1<<53 {
		return 0, false
	}
	return int64(x), true
}
