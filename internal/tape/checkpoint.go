package tape

import (
	"encoding/json"
	"fmt"

	"agentrec/store"
)

// place is a record's offset and what the tape holds before it.
type place struct {
	Offset int64                `json:"offset"`
	Bytes  [store.Streams]int64 `json:"bytes"`  // of each stream
	Events int64                `json:"events"` // event records

	Exchanges int64 `json:"exchanges,omitempty"` // beginnings of exchanges
}

// checkpoint is stored with each commit. A drain that resumes reads again from
// Anchor, the record where the oldest line or exchange begins that is not stored
// whole, and skips what Done says is stored: so every byte is stored exactly
// once although a line may begin in a much earlier record. Exchanges that the
// database has to their end are skipped.
type checkpoint struct {
	Anchor place                `json:"anchor"`
	Done   [store.Streams]int64 `json:"done"`   // bytes of each stream up to the line not yet stored whole
	Parts  [store.Streams]int64 `json:"parts"`  // bytes stored of that line, as a giant
	Events int64                `json:"events"` // event records stored

	// What is known to be missing so far.
	Lost    [store.Streams]int64 `json:"lost"`              // bytes of each stream, as the events stored say
	Damage  damage               `json:"damage,omitzero"`   // of the tape
	CutOff  int64                `json:"cut_off,omitempty"` // bytes of exchanges that were let go
	Gone    int64                `json:"gone,omitempty"`    // bytes that went with a deleted database
	Dropped int64                `json:"dropped,omitempty"` // exchanges that went with a deleted database

	Taught []byte `json:"taught,omitempty"` // what redaction was taught, sealed
}

func (c checkpoint) encode() []byte {
	b, err := json.Marshal(c)
	if err != nil {
		panic(err) // numbers only
	}
	return b
}

func decodeCheckpoint(b []byte) (checkpoint, error) {
	var c checkpoint
	if len(b) == 0 {
		return c, nil
	}
	if err := json.Unmarshal(b, &c); err != nil {
		return c, fmt.Errorf("read the checkpoint: %w", err)
	}
	return c, nil
}
