package replay

import (
	"bytes"
	"encoding/json"
	"slices"

	"agentrec/internal/dialect"
	"agentrec/store"
)

// alike returns the recorded frames of a live one's kind that say the same but for
// ids and what may differ. Of thousands of calls each is then held against few.
func (e *engine) alike(raw []byte, r *dialect.Reading) []int32 {
	pool := e.poolOf(r)
	if len(pool) == 0 || len(r.Members) > 0 {
		return pool
	}
	key := poolKey{r.Role, r.Label}
	ignore := e.rule(pool[0]).ignore // of their label
	if e.index[key] == nil {
		e.index[key] = map[string][]int32{}
		for _, i := range pool {
			says := e.says(e.fetch(i), ignore)
			e.index[key][says] = append(e.index[key][says], i)
		}
	}
	return e.index[key][e.says(raw, ignore)]
}

// says returns a frame less ids and what may differ, in one order of keys.
func (e *engine) says(raw []byte, ignore dialect.Paths) string {
	var edits []edit
	for _, slot := range e.s.dialect.Slots(store.In, raw) {
		edits = append(edits, edit{slot.Start, slot.End, "null"})
	}
	for _, s := range e.s.dialect.Volatile(store.In, raw).Join(ignore).Find(raw) {
		edits = append(edits, edit{s.Start, s.End, "null"})
	}
	end := 0
	edits = slices.DeleteFunc(sorted(edits), func(x edit) bool {
		inside := x.start < end
		end = max(end, x.end)
		return inside
	})
	bare := apply(raw, edits)
	var v any
	d := json.NewDecoder(bytes.NewReader(bare))
	d.UseNumber()
	if d.Decode(&v) == nil {
		if b, err := json.Marshal(v); err == nil {
			bare = b
		}
	}
	return string(bare)
}
