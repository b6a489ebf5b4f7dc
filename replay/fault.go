package replay

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"agentrec/store"
)

// Fault is damage done to what a replay writes, at the level of writes: one
// action at one frame of the agent. Text form: ACTION[=ARGUMENT]@TARGET, where
// TARGET is a seq (12), a label (tools_listed), or its nth frame (event#3).
type Fault struct {
	Action string
	Arg    string
	Seq    int64
	Label  string
	Nth    int // 1 when not given
}

// The actions.
const (
	FaultCut       = "cut"       // half the frame, then nothing more, the pipe stays open
	FaultEOF       = "eof"       // the pipe is closed in place of the frame
	FaultDie       = "die"       // half the frame, then the agent dies (status 1, or =N)
	FaultSplit     = "split"     // the frame in several writes, cut at random places
	FaultMerge     = "merge"     // the frame and the next in one write, however slow the pace
	FaultGarbage   = "garbage"   // a line that is no frame before it
	FaultDuplicate = "duplicate" // the frame twice
	FaultDrop      = "drop"      // the frame is left out
	FaultDelay     = "delay"     // silence before it (=DURATION, 1 s when not given)
	FaultOversize  = "oversize"  // the frame made longer by white space (=BYTES, 1 MiB when not given)
)

// FaultActions lists the actions in the order of their documentation.
var FaultActions = []string{FaultCut, FaultEOF, FaultDie, FaultSplit, FaultMerge, FaultGarbage, FaultDuplicate, FaultDrop, FaultDelay, FaultOversize}

// ParseFault reads a fault.
func ParseFault(text string) (Fault, error) {
	what, target, ok := strings.Cut(text, "@")
	f := Fault{Nth: 1}
	f.Action, f.Arg, _ = strings.Cut(what, "=")
	known := false
	for _, a := range FaultActions {
		known = known || a == f.Action
	}
	if !ok || !known || target == "" {
		return f, fmt.Errorf("%q is no fault; write ACTION@FRAME, such as cut@12 or duplicate@event#3, with one of %s", text, strings.Join(FaultActions, ", "))
	}
	if n, err := strconv.ParseInt(target, 10, 64); err == nil {
		f.Seq = n
		return f, f.check(text)
	}
	f.Label = target
	if i := strings.LastIndexByte(target, '#'); i > 0 {
		n, err := strconv.Atoi(target[i+1:])
		if err != nil || n < 1 {
			return f, fmt.Errorf("%q: write LABEL#N with N from 1", text)
		}
		f.Label, f.Nth = target[:i], n
	}
	return f, f.check(text)
}

func (f Fault) check(text string) error {
	var err error
	switch f.Action {
	case FaultDelay:
		_, err = f.duration()
	case FaultOversize, FaultDie:
		_, err = f.number(0)
	default:
		if f.Arg != "" {
			return fmt.Errorf("%q: %s takes no argument", text, f.Action)
		}
	}
	if err != nil {
		return fmt.Errorf("%q: %w", text, err)
	}
	return nil
}

func (f Fault) duration() (time.Duration, error) {
	if f.Arg == "" {
		return time.Second, nil
	}
	return time.ParseDuration(f.Arg)
}

func (f Fault) number(otherwise int) (int, error) {
	if f.Arg == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(f.Arg)
	if err == nil && n < 0 {
		err = fmt.Errorf("%d is negative", n)
	}
	return n, err
}

// String is the inverse of ParseFault.
func (f Fault) String() string {
	out := f.Action
	if f.Arg != "" {
		out += "=" + f.Arg
	}
	switch {
	case f.Seq != 0:
		return fmt.Sprintf("%s@%d", out, f.Seq)
	case f.Nth > 1:
		return fmt.Sprintf("%s@%s#%d", out, f.Label, f.Nth)
	}
	return out + "@" + f.Label
}

// faulty does faults to frames on their way to the pipe.
type faulty struct {
	faults []Fault
	done   []bool
	seen   map[string]int
	rng    *rand.Rand
	label  func(raw []byte) string
	report func(f Fault, seq int64)
	over   bool // nothing more is written
	hold   bool // the next flush is skipped
	close  func()
	die    func(status int)
}

func newFaulty(faults []Fault, seed uint64) *faulty {
	return &faulty{faults: faults, done: make([]bool, len(faults)), seen: map[string]int{}, rng: rand.New(rand.NewPCG(seed, seed^0x9e3779b97f4a7c15))}
}

// apply gives the writes that take a frame's place, each to be flushed by
// itself, and a pause before them. frame has its terminator.
func (x *faulty) apply(seq int64, frame []byte, term store.Terminator) (writes [][]byte, wait time.Duration) {
	if x.over {
		return nil, 0
	}
	label := x.label(bytes.TrimSuffix(frame, []byte(term.Bytes())))
	x.seen[label]++
	writes = [][]byte{frame}
	for i, f := range x.faults {
		if x.done[i] || f.Seq != seq && (f.Seq != 0 || f.Label != label || f.Nth != x.seen[label]) {
			continue
		}
		x.done[i] = true
		x.report(f, seq)
		writes, wait = x.one(f, writes, wait, term)
	}
	return writes, wait
}

func (x *faulty) one(f Fault, writes [][]byte, wait time.Duration, term store.Terminator) ([][]byte, time.Duration) {
	frame := bytes.Join(writes, nil)
	half := frame[:len(frame)/2]
	switch f.Action {
	case FaultCut:
		x.over = true
		return [][]byte{half}, wait
	case FaultEOF:
		x.over = true
		x.close()
		return nil, wait
	case FaultDie:
		x.over = true
		status, _ := f.number(1)
		x.die(status)
		return [][]byte{half}, wait
	case FaultSplit:
		return x.split(frame), wait
	case FaultMerge:
		x.hold = true
	case FaultGarbage:
		return append([][]byte{[]byte("agentrec: this line is no frame {\"\n")}, writes...), wait
	case FaultDuplicate:
		return append(writes, frame), wait
	case FaultDrop:
		return nil, wait
	case FaultDelay:
		d, _ := f.duration()
		return writes, wait + d
	case FaultOversize:
		n, _ := f.number(1 << 20)
		body := bytes.TrimSuffix(frame, []byte(term.Bytes()))
		pad := bytes.Repeat([]byte{' '}, max(0, n-len(body)))
		return [][]byte{append(append(append([]byte(nil), body...), pad...), term.Bytes()...)}, wait
	}
	return writes, wait
}

func (x *faulty) split(frame []byte) [][]byte {
	var out [][]byte
	for len(frame) > 1 && len(out) < 7 {
		n := 1 + x.rng.IntN(len(frame)-1)
		out, frame = append(out, frame[:n]), frame[n:]
	}
	return append(out, frame)
}
