package dialect

import "agentrec/store"

// maxSplit bounds what is copied to read the parts of one frame, in bytes.
const maxSplit = 16 << 20

// readParts reads a frame once for every element of the array at list, each
// time as if that element were the only one: so a frame with two tool calls
// shows two. There are no parts when the array has less than two elements, or
// when reading them would cost too much.
func (d *Dialect) readParts(stream store.Stream, f frame, list Span) []Reading {
	array := f.raw[list.Start:list.End]
	if len(array) == 0 || array[0] != '[' {
		return nil
	}
	var at []Span
	eachMember(array, func(s Span) bool {
		at = append(at, s)
		return len(at) <= maxMembers
	})
	around := len(f.raw) - len(array)
	if len(at) < 2 || len(at) > maxMembers || (around+2)*len(at)+len(array) > maxSplit {
		return nil
	}
	parts := make([]Reading, len(at))
	for i, s := range at {
		raw := make([]byte, 0, around+s.End-s.Start+2)
		raw = append(append(raw, f.raw[:list.Start]...), '[')
		raw = append(append(raw, array[s.Start:s.End]...), ']')
		parts[i] = d.Read(stream, append(raw, f.raw[list.End:]...))
		if i > 0 {
			parts[i].Usage, parts[i].Agent = Usage{}, ""
		}
	}
	return parts
}
