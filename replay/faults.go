package replay

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"agentrec/internal/tape"
	"agentrec/store"
)

// MatrixOptions says which faults to try on a test command.
type MatrixOptions struct {
	File    string
	Session string
	Dialect string
	Actions []string      // all when empty
	Frames  []int64       // seqs; chosen when empty
	Seed    uint64        // of the faults
	Timeout time.Duration // for one run of the test command
	JSON    bool          // one result a line
	Report  string        // JUnit file, "" for none
	Command []string      // the user's test; its client starts agentrec replay
	Stdout  io.Writer
	Stderr  io.Writer
}

// Trial is one run of the test command with one fault.
type Trial struct {
	Fault   string  `json:"fault"` // as --fault takes it; "" for the run without any
	Outcome string  `json:"outcome"`
	Status  int     `json:"status"` // of the test command; -1 when it was killed
	Took    float64 `json:"took_ms"`
	Detail  string  `json:"detail,omitempty"`
}

// Outcomes of a trial. A client survives a fault when its test comes to an end
// by itself, passed or failed; it does not when it hangs, is killed by a signal,
// or when the fault was never reached.
const (
	TrialPassed  = "passed"
	TrialFailed  = "failed"
	TrialHung    = "hung"
	TrialCrashed = "crashed"
)

func (t Trial) survived() bool { return t.Outcome == TrialPassed || t.Outcome == TrialFailed }

// RunMatrix runs the user's test command once without and once with each fault.
// The fault reaches the replay that the test's client starts by the variables
// AGENTREC_FAULT and AGENTREC_SEED. It returns Divergence when a fault was not
// survived.
func RunMatrix(ctx context.Context, o MatrixOptions) error {
	faults, err := matrix(ctx, o)
	if err != nil {
		return err
	}
	first := runTrial(ctx, o, "")
	if first.Outcome != TrialPassed {
		return fmt.Errorf("%w: the test command %s without any fault: %s", store.ErrUnusable, first.Outcome, first.Detail)
	}
	var trials []Trial
	lost := 0
	for _, f := range faults {
		t := runTrial(ctx, o, f.String())
		if ctx.Err() != nil {
			return ctx.Err()
		}
		trials = append(trials, t)
		if !t.survived() {
			lost++
		}
		if err := printTrial(o, t); err != nil {
			return fmt.Errorf("printing the trials: %w", err)
		}
	}
	if o.Report != "" {
		b, err := trialsJUnit(o, trials, lost)
		if err == nil {
			err = replaceFile(o.Report, 0o644, func(w io.Writer) error { _, err := w.Write(b); return err })
		}
		if err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
	}
	if !o.JSON {
		if _, err := fmt.Fprintf(o.Stdout, "%d faults, %d survived, %d not\n", len(trials), len(trials)-lost, lost); err != nil {
			return fmt.Errorf("printing the trials: %w", err)
		}
	}
	if lost > 0 {
		return Divergence{Count: lost}
	}
	return nil
}

// matrix returns the faults to try: every action at every frame.
func matrix(ctx context.Context, o MatrixOptions) ([]Fault, error) {
	frames := o.Frames
	if len(frames) == 0 {
		var err error
		if frames, err = interestingFrames(ctx, o); err != nil {
			return nil, err
		}
	}
	actions := o.Actions
	if len(actions) == 0 {
		actions = FaultActions
	}
	var out []Fault
	for _, seq := range frames {
		for _, a := range actions {
			f, err := ParseFault(fmt.Sprintf("%s@%d", a, seq))
			if err != nil {
				return nil, err
			}
			out = append(out, f)
		}
	}
	return out, nil
}

// interestingFrames chooses where a client is likely to be weak: the first frame
// of the agent, its first response, a frame in the middle and the last.
func interestingFrames(ctx context.Context, o MatrixOptions) ([]int64, error) {
	db, err := tape.Open(ctx, o.File)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	session, err := db.Find(ctx, o.Session)
	if err != nil {
		return nil, err
	}
	p, err := newPlayer(ctx, Options{File: o.File, Dialect: o.Dialect}, session)
	if err != nil {
		return nil, err
	}
	d, err := p.dialect()
	if err != nil {
		return nil, err
	}
	b, err := p.build(d, func(store.Frame) {})
	if err != nil {
		return nil, err
	}
	s := b.finish(session.State)
	var outs []int64
	response := int64(0)
	for i := range s.items {
		it := &s.items[i]
		if i == 0 || it.stream != store.Out || it.flags&fEvent != 0 {
			continue
		}
		outs = append(outs, int64(it.seq))
		if response == 0 && it.flags&fX == 0 {
			response = int64(it.seq)
		}
	}
	if len(outs) == 0 {
		return nil, fmt.Errorf("%w: the session holds no frame of the agent", store.ErrUnusable)
	}
	var list []int64
	for _, seq := range []int64{outs[0], response, outs[len(outs)/2], outs[len(outs)-1]} {
		if seq != 0 && (len(list) == 0 || list[len(list)-1] < seq) {
			list = append(list, seq)
		}
	}
	return list, nil
}

func runTrial(ctx context.Context, o MatrixOptions, fault string) Trial {
	limited, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	cmd := exec.CommandContext(limited, o.Command[0], o.Command[1:]...)
	cmd.Env = append(os.Environ(), "AGENTREC_FAULT="+fault, fmt.Sprintf("AGENTREC_SEED=%d", o.Seed))
	var output tail
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.WaitDelay = time.Second
	ownGroup(cmd)
	begin := time.Now()
	err := cmd.Run()
	t := Trial{Fault: fault, Outcome: TrialPassed, Took: float64(time.Since(begin).Milliseconds())}
	var exit *exec.ExitError
	switch {
	case limited.Err() != nil && err != nil:
		t.Outcome, t.Status = TrialHung, -1
	case errors.As(err, &exit) && exit.ExitCode() < 0:
		t.Outcome, t.Status = TrialCrashed, -1
	case errors.As(err, &exit):
		t.Outcome, t.Status = TrialFailed, exit.ExitCode()
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		t.Outcome, t.Status, t.Detail = TrialCrashed, -1, err.Error()
	}
	if t.Outcome != TrialPassed && t.Detail == "" {
		t.Detail = output.last()
	}
	return t
}

// tail keeps the end of what is written to it.
type tail struct{ b []byte }

// maxTail is how much of the end is kept, in bytes.
const maxTail = 4096

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if len(t.b) > maxTail {
		t.b = append([]byte(nil), t.b[len(t.b)-maxTail:]...)
	}
	return len(p), nil
}

// last returns the last line.
func (t *tail) last() string {
	lines := strings.Split(strings.TrimSpace(string(t.b)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

func printTrial(o MatrixOptions, t Trial) error {
	if o.JSON {
		return json.NewEncoder(o.Stdout).Encode(t)
	}
	word := "ok  "
	if !t.survived() {
		word = "FAIL"
	}
	detail := ""
	if t.Detail != "" {
		detail = "  " + visible(t.Detail)
	}
	_, err := fmt.Fprintf(o.Stdout, "%s  %-20s %-8s%s\n", word, t.Fault, t.Outcome, detail)
	return err
}

func trialsJUnit(o MatrixOptions, trials []Trial, lost int) ([]byte, error) {
	suite := junitSuite{Name: "agentrec faults", Tests: len(trials), Failures: lost}
	took := 0.0
	for _, t := range trials {
		c := junitCase{Name: t.Fault, Class: "agentrec.faults", Time: fmt.Sprintf("%.3f", t.Took/1000)}
		took += t.Took
		if !t.survived() {
			c.Failure = &junitFailure{Message: "the client " + t.Outcome, Type: t.Outcome, Text: visible(t.Detail)}
		}
		suite.Cases = append(suite.Cases, c)
	}
	suite.Time = fmt.Sprintf("%.3f", took/1000)
	b, err := xml.MarshalIndent(junitSuites{Suites: []junitSuite{suite}}, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(append([]byte(xml.Header), b...), '\n'), nil
}
