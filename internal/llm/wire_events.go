package llm

import (
	"bytes"
	"iter"
	"strings"
	"time"

	"agentrec/store"
)

// sseEvent is one event of a stream.
type sseEvent struct {
	name string
	data []byte
	end  int // offset behind it in the body
}

// looksSSE reports whether a body that is not said to be an event stream is one.
func looksSSE(body []byte) bool {
	body = bytes.TrimLeft(body, "\r\n")
	for _, p := range []string{"data:", "event:", "id:", "retry:", ":"} {
		if bytes.HasPrefix(body, []byte(p)) {
			return true
		}
	}
	return false
}

// eventsOf yields the events of a server-sent event stream (HTML Living
// Standard, 9.2.6) that carry data. Unlike a client it also yields a last one
// that no empty line ends: the stream may be cut.
func eventsOf(body []byte) iter.Seq[sseEvent] {
	return func(yield func(sseEvent) bool) {
		i := 0
		if bytes.HasPrefix(body, []byte("\xef\xbb\xbf")) {
			i = 3
		}
		var e sseEvent
		some, own := false, false // own: data is a buffer made here
		for i < len(body) {
			line, next := lineAt(body, i)
			i = next
			switch {
			case len(line) == 0:
				e.end = i
				if some && !yield(e) {
					return
				}
				e, some, own = sseEvent{}, false, false
			case line[0] == ':': // a comment
			default:
				name, value, _ := bytes.Cut(line, []byte(":"))
				value = bytes.TrimPrefix(value, []byte(" "))
				switch string(name) {
				case "event":
					e.name = string(value)
				case "data":
					switch {
					case !some:
						e.data, some = value, true
					case !own:
						e.data, own = bytes.Join([][]byte{e.data, value}, []byte("\n")), true
					default:
						e.data = append(append(e.data, '\n'), value...)
					}
				}
			}
		}
		if e.end = i; some {
			yield(e)
		}
	}
}

// linesOf yields the lines of a body that hold something, as events.
func linesOf(body []byte) iter.Seq[sseEvent] {
	return func(yield func(sseEvent) bool) {
		for i := 0; i < len(body); {
			line, next := lineAt(body, i)
			i = next
			if line = bytes.TrimSpace(line); len(line) > 0 && !yield(sseEvent{data: line, end: i}) {
				return
			}
		}
	}
}

// lineAt returns the line at i without its end (LF, CR or CRLF) and where the
// next one begins.
func lineAt(body []byte, i int) (line []byte, next int) {
	n := bytes.IndexAny(body[i:], "\r\n")
	if n < 0 {
		return body[i:], len(body)
	}
	next = i + n + 1
	if body[i+n] == '\r' && next < len(body) && body[next] == '\n' {
		next++
	}
	return body[i : i+n], next
}

// Event is one event of a stream: of server-sent events what carries data, of
// NDJSON a line.
type Event struct {
	Time time.Duration // from the beginning of the exchange to its last byte; -1 where that is not known
	Name string
	Data string
}

// maxEvents bounds what Events returns.
const maxEvents = 100_000

// Events returns the events of an exchange whose answer is a stream of them,
// nothing for any other. Data may share memory with the exchange.
func Events(x store.Exchange) []Event {
	body := Decoded(AnswerBody(x), x.Answer)
	var all iter.Seq[sseEvent]
	kind := strings.ToLower(headerValue(x.Answer, "content-type"))
	switch {
	case strings.HasPrefix(kind, "text/event-stream") || looksSSE(body):
		all = eventsOf(body)
	case strings.Contains(kind, "ndjson"):
		all = linesOf(body)
	default:
		return nil
	}
	var list []Event
	for e := range all {
		if len(list) == maxEvents {
			break
		}
		list = append(list, Event{Time: arrival(&x, e.end), Name: e.name, Data: string(e.data)})
	}
	return list
}
