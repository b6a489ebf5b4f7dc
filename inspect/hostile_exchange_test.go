package inspect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"agentrec/store"
)

// hostileExchanges say nothing but hostile text, in every place that a view
// shows: as JSON, as a stream, as an error, as bytes, nested beyond all sense.
func hostileExchanges(t testing.TB) []store.Exchange {
	t.Helper()
	j, err := json.Marshal(hostile())
	if err != nil {
		t.Fatal(err)
	}
	say := func(format string) []byte { return []byte(strings.ReplaceAll(format, "H", string(j))) }
	h := strings.ReplaceAll(hostile(), "\n", "")
	request := say(`{"model":H,"temperature":H,"messages":[{"role":"system","content":H},{"role":"user","content":[{"type":"text","text":H},{"type":"image_url","image_url":{"url":H}},{"type":H}]},{"role":"assistant","reasoning":H,"tool_calls":[{"id":H,"function":{"name":H,"arguments":H}}]},{"role":"tool","tool_call_id":H,"content":H}],"tools":[{"function":{"name":H,"description":H,"parameters":{H:H}}}]}`)
	make := func(body []byte, status int, kind string, pieces ...[]byte) store.Exchange {
		x := store.Exchange{
			After: 2, Time: 2 * time.Millisecond, Route: store.Route(h), Proto: h, Method: h, URL: "https://host/" + h + "/v1/chat/completions", Header: []store.Field{{Name: h, Value: h}}, Body: body,
			Status: status, Answered: 3 * time.Millisecond, Answer: []store.Field{{Name: "Content-Type", Value: kind}, {Name: h, Value: h}}, Trailer: []store.Field{{Name: h, Value: h}},
			End: store.CutShort, Ended: 4 * time.Millisecond, Error: h, Attempt: 2,
		}
		for _, p := range pieces {
			x.Pieces = append(x.Pieces, store.Piece{Time: 3 * time.Millisecond, Bytes: p})
		}
		return x
	}
	list := []store.Exchange{
		make(request, 200, "text/event-stream", []byte("event: "+h+"\ndata: "), say(`{"id":H,"model":H,"choices":[{"delta":{"content":H,"reasoning_content":H,"tool_calls":[{"id":H,"function":{"name":H,"arguments":H}}]},"finish_reason":H}],"error":{"type":H,"message":H}}`), []byte("\n\n")),
		make(request, 200, "application/json", say(`{"choices":[{"message":{"content":H}}]}`)),
		make(request, 500, h, say(`{"error":{"type":H,"message":H}}`)),
		make([]byte(hostile()), 200, "text/plain", []byte(hostile())),
		make([]byte("\xff\xfe"+h), 200, h, []byte("\xff\x00"+h)),
		make(bytes.Repeat([]byte("["), 100_000), 200, "application/json", bytes.Repeat([]byte(`{"a":`), 20_000)),
	}
	for i := range list {
		list[i].Number = int64(i + 1)
	}
	list[3].URL = strings.TrimSuffix(list[3].URL, "chat/completions") + "other"
	return list
}

// Drawing a line of an exchange leaves it as it is.
func TestWrappingKeepsLines(t *testing.T) {
	l := line{{"a ", toneDim}, {strings.Repeat("word ", 40), tonePlain}}
	first := fmt.Sprint(hangingLines(l, 20))
	if again := fmt.Sprint(hangingLines(l, 20)); again != first || len(hangingLines(l, 20)) < 10 {
		t.Errorf("first %s, then %s", first, again)
	}
}

// oneLineJSON exports and demands one JSON value a line, HAR laid on one line.
func oneLineJSON(t *testing.T, b *bytes.Buffer, o exportOptions) error {
	var out bytes.Buffer
	o.Out, o.Err = &out, nothing{}
	if err := export(t.Context(), o); err != nil {
		return err
	}
	if !o.HAR {
		b.Write(out.Bytes())
		return nil
	}
	return json.Compact(b, out.Bytes())
}
