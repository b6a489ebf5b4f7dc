package inspect

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"agentrec/internal/dialect"
	"agentrec/internal/transcript"
	"agentrec/store"
)

// frameKey is what two frames have in common that say the same: their content
// less what differs from run to run.
type frameKey [16]byte

// keyOf returns the key of a frame: of JSON its values in any order of members,
// without the dialect's volatile places and with ids only as "an id of this
// space"; of anything else its bytes.
func keyOf(d *dialect.Dialect, f store.Frame) frameKey {
	var b []byte
	b = append(b, byte(f.Stream), byte(f.Term))
	if !dialect.Valid(f.Raw) {
		return sum16(append(append(b, 'r'), f.Raw...))
	}
	c := canon{raw: f.Raw, nodes: transcript.Values(f.Raw), slots: d.Slots(f.Stream, f.Raw), volatile: d.Volatile(f.Stream, f.Raw)}
	return sum16(c.write(append(b, 'j'), 0, nil))
}

func sum16(b []byte) frameKey {
	h := sha256.Sum256(b)
	return frameKey(h[:16])
}

// canon writes a JSON text in one form for all texts that say the same.
type canon struct {
	raw      []byte
	nodes    []transcript.Value
	slots    []dialect.Slot
	volatile dialect.Paths
}

// write appends the canonical form of node i, which is at place. Recursion is
// as deep as the text nests: at most dialect.MaxDepth.
func (c *canon) write(dst []byte, i int, place []string) []byte {
	n := c.nodes[i]
	if at, ok := slices.BinarySearchFunc(c.slots, n.Start, func(s dialect.Slot, start int) int { return s.Start - start }); ok && c.slots[at].End == n.End {
		return append(append(append(dst, '#'), c.slots[at].Namespace...), 0)
	}
	raw := c.raw[n.Start:n.End]
	switch raw[0] {
	case '{':
		return c.object(dst, i, place)
	case '[':
		dst = append(dst, '[')
		for k := i + 1; k < n.Next; k = c.nodes[k].Next {
			if at := append(place, c.nodes[k].Key); !c.volatile.Match(at) {
				dst = c.write(dst, k, at)
			}
			dst = append(dst, ',')
		}
		return append(dst, ']')
	case '"':
		text := transcript.Unquote(raw)
		return counted(append(dst, '"'), text)
	}
	return append(append(dst, raw...), ' ')
}

// counted appends a text with its length, so that no text can look like what
// stands around it.
func counted(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

func (c *canon) object(dst []byte, i int, place []string) []byte {
	type member struct {
		key  string
		node int
	}
	var list []member
	for k := i + 1; k < c.nodes[i].Next; k = c.nodes[k].Next {
		list = append(list, member{c.nodes[k].Key, k})
	}
	slices.SortStableFunc(list, func(a, b member) int { return strings.Compare(a.key, b.key) })
	dst = append(dst, '{')
	for n, m := range list {
		if n > 0 && list[n-1].key == m.key {
			continue // of duplicate keys the first counts
		}
		at := append(place, m.key)
		if c.volatile.Match(at) {
			continue
		}
		dst = counted(dst, m.key)
		dst = c.write(dst, m.node, at)
	}
	return append(dst, '}')
}

// replaceSlots returns raw with the tokens of slots replaced by those of with,
// which says nil for one that stays.
func replaceSlots(raw []byte, slots []dialect.Slot, with func(dialect.Slot, string) []byte) []byte {
	var out bytes.Buffer
	at := 0
	for _, s := range slots {
		if s.Start < at {
			continue
		}
		token := with(s, string(raw[s.Start:s.End]))
		if token == nil {
			continue
		}
		out.Write(raw[at:s.Start])
		out.Write(token)
		at = s.End
	}
	if at == 0 {
		return raw
	}
	out.Write(raw[at:])
	return out.Bytes()
}
