package inspect

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"agentrec/internal/tape"
	"agentrec/store"
)

// BenchmarkExchanges reads a conversation of 100 requests of which each repeats
// all that was said before, behind 100 kB of instructions.
func BenchmarkExchanges(b *testing.B) {
	messages := []string{fmt.Sprintf(`{"role":"system","content":"%s"}`, strings.Repeat("rule number one. ", 6000))}
	var list []store.Exchange
	size := int64(0)
	for i := range 100 {
		messages = append(messages, fmt.Sprintf(`{"role":"user","content":"question %d %s"}`, i, strings.Repeat(fmt.Sprintf("word%d ", i), 80)))
		x := asked(int64(i+1), 4, `{"model":"gpt-5","stream":true,"messages":[`+strings.Join(messages, ",")+`]}`, 200)
		for k := range 50 {
			x.Pieces = append(x.Pieces, store.Piece{Time: x.Answered + time.Duration(k)*time.Microsecond, Bytes: fmt.Appendf(nil, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"tok%d \"}}]}\n\n", k)})
		}
		x.Ended = x.Answered + time.Millisecond
		messages = append(messages, fmt.Sprintf(`{"role":"assistant","content":"answer %d"}`, i))
		list = append(list, x)
		size += int64(len(x.Body))
	}
	db, err := tape.Open(b.Context(), recordTold(b, phiSteps[:5], list))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	s, err := db.Find(b.Context(), "")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	for b.Loop() {
		all := exchanges{session: s}
		if _, err := all.extend(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
