package replay

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
)

// A generated recording: a simulated client and a simulated agent talk through
// pipes of random delay, and a recorder in the middle writes down the order that
// it sees. The agent knows what caused each of its frames: the oracle.
type generated struct {
	dialect string
	lines   []string
	causes  map[int][]int // seq of an out frame -> in frames that caused it
	after   map[int][]int // seq of an out frame -> out frames that the agent sent before it in its turn
	loose   map[int]bool  // out frames whose true cause cannot be known from the recording
}

// actor is a side of the simulation.
type simClient interface {
	recv(frame map[string]any)
	actions() []action // what it would send now
}

type simAgent interface {
	recv(seq int, frame map[string]any)
}

// action is something a client may send.
type action struct {
	key  string // equal for the same act in every run
	send func() map[string]any
	conv int // 0 for none: serial clients finish one before the next
}

type world struct {
	rng    *rand.Rand
	now    int
	queue  []happening
	g      *generated
	client simClient
	agent  simAgent
	wanted map[string]bool
	last   [4]int
	serial int
}

type happening struct {
	at, order int
	do        func()
}

func newWorld(seed uint64, dialect string) *world {
	return &world{
		rng: rand.New(rand.NewPCG(seed, 7)), wanted: map[string]bool{},
		g: &generated{dialect: dialect, causes: map[int][]int{}, after: map[int][]int{}, loose: map[int]bool{}},
	}
}

func (w *world) later(delay int, do func()) {
	w.serial++
	w.queue = append(w.queue, happening{w.now + delay, w.serial, do})
}

// pipe delivers in order: never earlier than what was sent before it.
func (w *world) pipe(n int, do func()) {
	at := max(w.now+1+w.rng.IntN(12), w.last[n])
	w.last[n] = at
	w.later(at-w.now, do)
}

func text(frame map[string]any) string {
	b, err := json.Marshal(frame)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func parseFrame(line string) map[string]any {
	var m map[string]any
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		return map[string]any{}
	}
	return m
}

func (w *world) record(dir string, frame map[string]any) int {
	w.g.lines = append(w.g.lines, dir+" "+text(frame))
	return len(w.g.lines)
}

// toAgent sends a frame of the client on its way.
func (w *world) toAgent(frame map[string]any) {
	w.pipe(0, func() {
		seq := w.record("in", frame)
		w.pipe(1, func() { w.agent.recv(seq, frame) })
	})
}

// toClient sends a frame of the agent on its way; out gets its seq.
func (w *world) toClient(frame map[string]any, causes []int, after []*int, loose bool) *int {
	out := new(int)
	causes, after = slices.Clone(causes), slices.Clone(after)
	w.pipe(2, func() {
		seq := w.record("out", frame)
		*out = seq
		w.g.causes[seq] = causes
		for _, a := range after {
			w.g.after[seq] = append(w.g.after[seq], *a)
		}
		w.g.loose[seq] = loose
		w.pipe(3, func() { w.client.recv(frame); w.plan() })
	})
	return out
}

// plan lets the client do what it has come to want, each after a while.
func (w *world) plan() {
	for _, a := range w.client.actions() {
		if w.wanted[a.key] {
			continue
		}
		w.wanted[a.key] = true
		w.later(1+w.rng.IntN(30), func() {
			for _, b := range w.client.actions() {
				if b.key == a.key {
					w.toAgent(b.send())
					w.plan()
					return
				}
			}
			delete(w.wanted, a.key) // no longer possible
			w.plan()
		})
	}
}

func (w *world) run() *generated {
	w.plan()
	for len(w.queue) > 0 {
		sort.Slice(w.queue, func(i, j int) bool {
			if w.queue[i].at != w.queue[j].at {
				return w.queue[i].at < w.queue[j].at
			}
			return w.queue[i].order < w.queue[j].order
		})
		h := w.queue[0]
		w.queue = w.queue[1:]
		w.now = h.at
		h.do()
	}
	return w.g
}

// variant is a client that behaves otherwise than the recorded one.
type variant struct {
	name string
	ids  func(n int) any // how it numbers its requests
	pick func(rng *rand.Rand, list []action) int
	one  bool // waits for each response before the next request
}

func decimal(n int) any { return n }

var variants = []variant{
	{name: "same", ids: decimal, pick: func(*rand.Rand, []action) int { return 0 }},
	{name: "strings", ids: func(n int) any { return fmt.Sprintf("id-%d", n) }, pick: func(*rand.Rand, []action) int { return 0 }},
	{name: "from 100", ids: func(n int) any { return 100 + n }, pick: func(*rand.Rand, []action) int { return 0 }},
	{name: "random", ids: decimal, pick: func(rng *rand.Rand, list []action) int { return rng.IntN(len(list)) }},
	{name: "slow to answer", ids: decimal, pick: func(_ *rand.Rand, list []action) int {
		for i, a := range list {
			if !strings.HasPrefix(a.key, "answer") {
				return i
			}
		}
		return 0
	}},
	{name: "answers at once", ids: decimal, pick: func(_ *rand.Rand, list []action) int {
		for i, a := range list {
			if strings.HasPrefix(a.key, "answer") {
				return i
			}
		}
		return 0
	}},
	{name: "reversed", ids: decimal, pick: func(_ *rand.Rand, list []action) int { return len(list) - 1 }},
	{name: "serial", ids: decimal, pick: serial},
	{name: "one by one", ids: decimal, pick: serial, one: true},
	{name: "queries first", ids: decimal, pick: queriesFirst},
	{name: "queries first, one by one", ids: decimal, pick: queriesFirst, one: true},
	{name: "one by one, reversed", ids: decimal, pick: func(_ *rand.Rand, list []action) int { return len(list) - 1 }, one: true},
}

// queriesFirst asks before it does anything that the recording asked about
// later, and waits for nothing else.
func queriesFirst(_ *rand.Rand, list []action) int {
	return max(0, slices.IndexFunc(list, func(a action) bool { return strings.HasPrefix(a.key, "query") }))
}

// serial finishes a conversation or call before it begins the next.
func serial(_ *rand.Rand, list []action) int {
	best := 0
	for i, a := range list {
		if a.conv < list[best].conv {
			best = i
		}
	}
	return best
}
