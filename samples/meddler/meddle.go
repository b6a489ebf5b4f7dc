package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/tidwall/gjson"
)

// deed is one thing that is done to frames of the client.
type deed struct {
	At  string `json:"at"`  // text that the frame holds
	Nth int    `json:"nth"` // the how-manieth of those frames, the first by default; -1 for all of them
	Do  string `json:"do"`
	// drop    leaves it out
	// twice   sends it twice
	// edit    replaces Old by New in it
	// before  sends Frame before it
	// hold    sends it only when the agent has sent a frame that holds Until
	// end     closes the agent's input in its place
	// retype  makes a string of its id, or of a string something else; the
	//         agent's answer gets the client's own id back
	Old   string `json:"old"`
	New   string `json:"new"`
	Frame string `json:"frame"`
	Until string `json:"until"`

	seen int
}

var known = []string{"drop", "twice", "edit", "before", "hold", "end", "retype"}

// meddler does its deeds to the frames of one client.
type meddler struct {
	deeds []deed

	mu    sync.Mutex
	to    io.WriteCloser
	ended bool
	held  []held
	ids   map[string]string // ids as they were sent -> as the client wrote them
}

type held struct {
	line  []byte
	until string
}

func newMeddler(deeds []deed) (*meddler, error) {
	for i := range deeds {
		d := &deeds[i]
		if !strings.Contains(strings.Join(known, " "), d.Do) || d.Do == "" {
			return nil, fmt.Errorf("deed %d: there is no %q; use one of %s", i+1, d.Do, strings.Join(known, ", "))
		}
		if d.Nth == 0 {
			d.Nth = 1
		}
	}
	return &meddler{deeds: deeds, ids: map[string]string{}}, nil
}

// in passes the client's frames on until their end, and closes to. A failed
// write is no error: the agent is gone, and its end says why.
func (m *meddler) in(from io.Reader, to io.WriteCloser) {
	m.to = to
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			m.mu.Lock()
			m.frame(line)
			m.mu.Unlock()
		}
		if err != nil {
			m.mu.Lock()
			m.end()
			m.mu.Unlock()
			return
		}
	}
}

func (m *meddler) end() {
	if !m.ended {
		m.ended = true
		m.to.Close()
	}
}

func (m *meddler) send(line []byte) {
	if !m.ended {
		m.to.Write(line)
	}
}

// frame does to one line of the client what the deeds say, in their order.
func (m *meddler) frame(line []byte) {
	times, until := 1, ""
	for i := range m.deeds {
		d := &m.deeds[i]
		if !bytes.Contains(line, []byte(d.At)) {
			continue
		}
		d.seen++
		if d.Nth != -1 && d.Nth != d.seen {
			continue
		}
		switch d.Do {
		case "drop":
			times = 0
		case "twice":
			times = 2
		case "edit":
			line = bytes.Replace(line, []byte(d.Old), []byte(d.New), 1)
		case "before":
			m.send([]byte(d.Frame + "\n"))
		case "hold":
			until = d.Until
		case "end":
			m.end()
		case "retype":
			line = m.retype(line)
		}
	}
	for range times {
		if until != "" {
			m.held = append(m.held, held{line, until})
			continue
		}
		m.send(line)
	}
}

// retype changes the JSON type of a frame's id, and of the id of a request
// that a cancel names.
func (m *meddler) retype(line []byte) []byte {
	for _, path := range []string{"params.requestId", "id"} {
		id := gjson.GetBytes(line, path)
		if !id.Exists() || id.Index == 0 {
			continue
		}
		other := `"m-` + strings.Trim(id.Raw, `"`) + `"`
		if id.Type == gjson.String {
			other = fmt.Sprint(9000 + len(m.ids))
		}
		if path == "id" {
			m.ids[other] = id.Raw
		} else {
			for sent, own := range m.ids {
				if own == id.Raw {
					other = sent
				}
			}
		}
		line = append(append(append([]byte(nil), line[:id.Index]...), other...), line[id.Index+len(id.Raw):]...)
	}
	return line
}

// out passes the agent's frames on until their end. It returns the error of
// writing to the client.
func (m *meddler) out(from io.Reader, to io.Writer) error {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			if _, err := to.Write(m.answer(line)); err != nil {
				return err
			}
		}
		if err != nil {
			return nil
		}
	}
}

// answer gives a frame of the agent the id that the client knows, and lets go
// of what was held until it.
func (m *meddler) answer(line []byte) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if id := gjson.GetBytes(line, "id"); len(m.ids) > 0 && id.Index > 0 {
		if own, ok := m.ids[id.Raw]; ok {
			line = append(append(append([]byte(nil), line[:id.Index]...), own...), line[id.Index+len(id.Raw):]...)
		}
	}
	var still []held
	for _, h := range m.held {
		if bytes.Contains(line, []byte(h.until)) {
			m.send(h.line)
		} else {
			still = append(still, h)
		}
	}
	m.held = still
	return line
}
