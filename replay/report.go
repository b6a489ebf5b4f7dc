package replay

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"agentrec/store"
)

// Report is the verdict of one replay as it stands in a report file (JSON).
// While the replay runs, State is "running" and the file holds what is known so
// far; a file left so belongs to a replay that was killed.
type Report struct {
	Format      int           `json:"agentrec_report"`   // 1
	Command     string        `json:"command,omitempty"` // rerun; "" is replay
	File        string        `json:"file"`
	Session     ReportSession `json:"session"`
	Dialect     string        `json:"dialect"`
	State       string        `json:"state"`           // running, done
	Verdict     string        `json:"verdict"`         // pass, fail: of what is known so far, unsent frames included
	Ended       string        `json:"ended,omitempty"` // eof, exit, a signal's name, stall
	Process     int           `json:"process"`
	Started     time.Time     `json:"started"`
	Took        float64       `json:"took_ms"`
	In          ReportCount   `json:"in"`
	Out         ReportCount   `json:"out"`
	Divergences []Entry       `json:"divergences"`
	Notes       []Entry       `json:"notes"`
	Dropped     int           `json:"dropped,omitempty"`   // divergences beyond those listed
	Exit        *store.Exit   `json:"exit,omitempty"`      // as recorded
	Exchanges   *ReportCount  `json:"exchanges,omitempty"` // of a rerun with a mocked model: played are those that served
	Runs        int           `json:"runs,omitempty"`      // of a rerun: how often it was run, if more than once
}

// ReportSession names the session that was played.
type ReportSession struct {
	ID   int64  `json:"id"`
	UID  string `json:"uid"`
	Name string `json:"name,omitempty"`
}

// ReportCount compares recorded frames with those of the replay.
type ReportCount struct {
	Recorded int `json:"recorded"`
	Played   int `json:"played"` // in: matched, of a rerun sent; out: sent, of a rerun received
}

// Failed returns how many divergences a report holds.
func (r *Report) Failed() int { return len(r.Divergences) + r.Dropped }

// reporter writes a report file again and again while a replay runs. Each
// version replaces the one before in one step, so a reader always finds a whole
// one.
type reporter struct {
	path   string
	encode func(*Report) ([]byte, error)
	next   chan *Report
	now    chan synced
	done   chan error
}

// synced is a version that somebody waits for.
type synced struct {
	report  *Report
	written chan struct{}
}

// reportFormats are the formats of report files by their extension.
var reportFormats = map[string]func(*Report) ([]byte, error){
	".json": reportJSON,
	".xml":  func(r *Report) ([]byte, error) { return junit([]*Report{r}) },
	".tap":  func(r *Report) ([]byte, error) { return tap([]*Report{r}) },
}

// newReporter starts a reporter; where names a file by its extension, or a
// directory, in which each process makes a file of its own.
func newReporter(where string, id string) (*reporter, error) {
	path, ext := where, filepath.Ext(where)
	if info, err := os.Stat(where); err == nil && info.IsDir() || strings.HasSuffix(where, string(os.PathSeparator)) || ext == "" {
		if err := os.MkdirAll(where, 0o777); err != nil {
			return nil, fmt.Errorf("making the report directory: %w", err)
		}
		ext = ".json"
		path = filepath.Join(where, id+ext)
	}
	encode := reportFormats[ext]
	if encode == nil {
		return nil, fmt.Errorf("the report %s has no known format; end its name in .json, .xml or .tap, or name a directory", where)
	}
	r := &reporter{path: path, encode: encode, next: make(chan *Report, 1), now: make(chan synced), done: make(chan error, 1)}
	go r.run()
	return r, nil
}

func (r *reporter) run() {
	var first error
	write := func(report *Report) {
		if err := r.write(report); err != nil && first == nil {
			first = err
		}
	}
	for {
		select {
		case report, ok := <-r.next:
			if !ok {
				r.done <- first
				return
			}
			write(report)
		case s := <-r.now:
			write(s.report)
			close(s.written)
		}
	}
}

// sync writes a version before it returns. What is written so survives a client
// that kills its agent as soon as it has what it wants.
func (r *reporter) sync(report *Report) {
	select {
	case <-r.next: // an older one that was not written yet
	default:
	}
	s := synced{report, make(chan struct{})}
	r.now <- s
	<-s.written
}

// update hands over a newer version; the caller does not wait for the disk.
func (r *reporter) update(report *Report) {
	for {
		select {
		case r.next <- report:
			return
		default:
		}
		select {
		case <-r.next: // an older one that was not written yet
		default:
		}
	}
}

// close writes the last version and returns the first error of all.
func (r *reporter) close(report *Report) error {
	r.update(report)
	close(r.next)
	if err := <-r.done; err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

func (r *reporter) write(report *Report) error {
	b, err := r.encode(report)
	if err != nil {
		return err
	}
	return replaceFile(r.path, 0o644, func(w io.Writer) error { _, err := w.Write(b); return err })
}

func reportJSON(r *Report) ([]byte, error) {
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}
