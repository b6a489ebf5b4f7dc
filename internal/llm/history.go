package llm

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"
	"strings"

	"agentrec/internal/dialect"
)

// History tells what in a request was not told before: agents send the whole
// conversation with each request. The zero value is ready; it keeps a few bytes
// for each message and no text. Not for concurrent use.
type History struct {
	asked   map[digest]bool // conversations so far, by all that the model did not say
	system  map[digest]bool // instructions
	answers map[digest]bool // texts and calls that answers gave
}

type digest [16]byte

// Next takes the next exchange of a session and returns which of its messages
// are new: not in an earlier request that began alike, and not an answer that
// was given to one.
func (h *History) Next(r Reading) []int {
	if h.asked == nil {
		h.asked, h.system, h.answers = map[digest]bool{}, map[digest]bool{}, map[digest]bool{}
	}
	var fresh, asked []int // asked are what the model did not say
	var chain []digest     // of them: the conversation up to each
	sum := sha256.New()
	for i := range r.Messages {
		m := &r.Messages[i]
		switch sideOf(m) {
		case "system":
			d := digestOf(m)
			if !h.system[d] {
				fresh = append(fresh, i)
			}
			h.system[d] = true
		case "user":
			hashMessage(sum, m)
			asked, chain = append(asked, i), append(chain, digest(sum.Sum(nil)[:16]))
		}
	}
	known := 0
	for known < len(chain) && h.asked[chain[known]] {
		known++
	}
	for k := known; k < len(chain); k++ {
		h.asked[chain[k]] = true
		fresh = append(fresh, asked[k])
	}
	from := 0
	if known > 0 {
		from = asked[known-1]
	}
	for i := from; i < len(r.Messages); i++ {
		if m := &r.Messages[i]; sideOf(m) == "model" && !h.answered(m) {
			fresh = append(fresh, i)
		}
	}
	h.answer(r)
	slices.Sort(fresh)
	return fresh
}

// sideOf returns who speaks in a message: "system", "model", or "user" for what
// comes from the agent's side.
func sideOf(m *dialect.Message) string {
	switch m.Role {
	case "system", "developer":
		return "system"
	case "assistant", "model":
		return "model"
	}
	return "user"
}

// answered reports whether an answer said what a message of the model says: its
// text and its calls. Thoughts come back changed, or not at all.
func (h *History) answered(m *dialect.Message) bool {
	if s := strings.TrimSpace(m.Text); s != "" && !h.answers[digestText("text", s)] {
		return false
	}
	for _, c := range m.Calls {
		if !h.answers[digestText("call", c.Name)] {
			return false
		}
	}
	return true
}

func (h *History) answer(r Reading) {
	if s := strings.TrimSpace(r.Text); s != "" {
		h.answers[digestText("text", s)] = true
	}
	for _, c := range r.Calls {
		h.answers[digestText("call", c.Name)] = true
	}
}

func digestText(kind, s string) digest {
	sum := sha256.New()
	hashField(sum, kind)
	hashField(sum, s)
	return digest(sum.Sum(nil)[:16])
}

func digestOf(m *dialect.Message) digest {
	sum := sha256.New()
	hashMessage(sum, m)
	return digest(sum.Sum(nil)[:16])
}

// hashMessage puts what a message says into a hash, of binary parts their
// descriptions.
func hashMessage(to hash.Hash, m *dialect.Message) {
	hashField(to, m.Role)
	hashField(to, m.Text)
	hashField(to, m.CallID)
	for i := range m.Parts {
		hashField(to, m.Parts[i].String())
	}
	for _, c := range m.Calls {
		hashField(to, c.Name)
		hashField(to, c.Args)
	}
	hashField(to, "")
}

// hashField writes a text with its length, so that no two lists of texts hash
// alike.
func hashField(to hash.Hash, s string) {
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], uint64(len(s)))
	to.Write(n[:])
	to.Write([]byte(s))
}
