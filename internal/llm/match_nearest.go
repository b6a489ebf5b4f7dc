package llm

import (
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"

	"agentrec/internal/dialect"
)

// Difference is one place at which a live request differs from a recorded one.
// Path is as --ignore takes it; the values are raw JSON, strings less long parts
// that are the same, "" where there is none.
type Difference struct {
	Path     string `json:"path"`
	Recorded string `json:"recorded"`
	Live     string `json:"live"`
}

// maxDifferences is how many differences of a request are told.
const maxDifferences = 40

// nearest returns the unused exchange of the lane that a request is closest to:
// by the model, then by how many messages from the first on are the same, then by
// how many are at all, then by all that is no message. Nil when all are used. With use it is used
// from then on.
func (m *matcher) nearest(l *lane, live *liveRequest, use bool) *entry {
	hashes, rest := live.hashes()
	m.mu.Lock()
	defer m.mu.Unlock()
	var best *entry
	var most [4]int
	model := live.modelName()
	for _, e := range l.entries {
		if e.used > 0 || !m.hostFits(e, live.host) {
			continue
		}
		score := [4]int{0, common(e.hashes, hashes), overlap(e.hashes, hashes), 0}
		if e.model == model {
			score[0] = 1
		}
		if e.rest == rest {
			score[3] = 1
		}
		if best == nil || slices.Compare(score[:], most[:]) > 0 {
			best, most = e, score
		}
	}
	if use && best != nil {
		best.serve()
	}
	return best
}

func common(a, b []key) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func overlap(a, b []key) int {
	count := map[key]int{}
	for _, k := range a {
		count[k]++
	}
	n := 0
	for _, k := range b {
		if count[k] > 0 {
			count[k]--
			n++
		}
	}
	return n
}

// diff is how a live request differs from a recorded one.
type diff struct {
	message int    // number of the first message that differs, from 1; 0 when none does
	role    string // of it
	list    []Difference
	more    int
	changes []key // one for each thing that changed: equal changes have equal keys
}

// compare tells how a live request differs from a recorded one.
func compare(recorded, live *request) diff {
	var d diff
	if recorded.model != live.model {
		d.add("(path)", &node{kind: text, text: recorded.model}, &node{kind: text, text: live.model})
	}
	was, place := recorded.messages()
	is, _ := live.messages()
	if place == nil || is == nil {
		d.value(nil, &recorded.norm, &live.norm, nil)
		return d
	}
	d.value(nil, &recorded.norm, &live.norm, place)
	from := 0
	for from < min(len(was), len(is)) && was[from].equal(&is[from]) {
		from++
	}
	wasEnd, isEnd := len(was), len(is)
	for wasEnd > from && isEnd > from && was[wasEnd-1].equal(&is[isEnd-1]) {
		wasEnd--
		isEnd--
	}
	if from < max(wasEnd, isEnd) {
		d.message = from + 1
		if from < isEnd {
			d.role = roleOf(&is[from])
		} else {
			d.role = roleOf(&was[from])
		}
	}
	for i := from; i < max(wasEnd, isEnd); i++ {
		var a, b *node
		at := i
		if i < wasEnd {
			a = &was[i]
		}
		if i < isEnd {
			b, at = &is[i], int(is[i].at)
		}
		if b != nil {
			d.changes = append(d.changes, b.sum())
		} else {
			d.changes = append(d.changes, sha256.Sum256(a.form([]byte("less"))))
		}
		quiet := len(d.changes)
		d.value(append(slices.Clone(place), strconv.Itoa(at)), a, b, nil)
		d.changes = d.changes[:quiet] // the message as a whole is the change
	}
	return d
}

// value compares two values, nil being none, but for what stands at skip.
func (d *diff) value(place []string, recorded, live *node, skip []string) {
	if skip != nil && slices.Equal(place, skip) {
		return
	}
	if recorded == nil || live == nil || recorded.kind != live.kind || recorded.kind != object && recorded.kind != array && recorded.kind != nested {
		if recorded == nil || live == nil || !recorded.equal(live) {
			d.add(dotted(place), recorded, live)
		}
		return
	}
	switch recorded.kind {
	case nested:
		if !recorded.equal(live) {
			d.add(dotted(place), recorded, live)
		}
	case array:
		for i := range max(len(recorded.list), len(live.list)) {
			a, b, at := elementOf(recorded, i), elementOf(live, i), i
			if b != nil {
				at = int(b.at)
			}
			d.value(append(slices.Clone(place), strconv.Itoa(at)), a, b, skip)
		}
	case object:
		i, j := 0, 0
		for i < len(recorded.keys) || j < len(live.keys) {
			switch {
			case j == len(live.keys) || i < len(recorded.keys) && recorded.keys[i] < live.keys[j]:
				d.value(append(slices.Clone(place), recorded.keys[i]), &recorded.list[i], nil, skip)
				i++
			case i == len(recorded.keys) || recorded.keys[i] > live.keys[j]:
				d.value(append(slices.Clone(place), live.keys[j]), nil, &live.list[j], skip)
				j++
			default:
				d.value(append(slices.Clone(place), live.keys[j]), &recorded.list[i], &live.list[j], skip)
				i++
				j++
			}
		}
	}
}

func elementOf(v *node, i int) *node {
	if i < len(v.list) {
		return &v.list[i]
	}
	return nil
}

func (d *diff) add(path string, recorded, live *node) {
	form := []byte(path)
	if live != nil {
		form = live.form(append(form, 0))
	} else {
		form = recorded.form(append(form, 1))
	}
	d.changes = append(d.changes, sha256.Sum256(form))
	if len(d.list) == maxDifferences {
		d.more++
		return
	}
	was, is := CutAround(shownText(recorded), shownText(live), maxValue)
	d.list = append(d.list, Difference{path, was, is})
}

// ignore returns the flags that would accept the differences, "" when there are
// more than a few.
func (d *diff) ignore() string {
	if d.more > 0 || len(d.list) == 0 || len(d.list) > 3 {
		return ""
	}
	var flags []string
	for _, one := range d.list {
		if one.Path == "(path)" || one.Path == "" {
			return ""
		}
		flags = append(flags, "--ignore '"+one.Path+"'")
	}
	return strings.Join(flags, " ")
}

func dotted(place []string) string {
	keys := make([]string, len(place))
	for i, k := range place {
		keys[i] = dialect.QuoteKey(k)
	}
	return strings.Join(keys, ".")
}
