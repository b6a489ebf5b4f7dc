package inspect

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"agentrec/internal/transcript"
	"agentrec/store"
)

// statsOptions is what `agentrec stats` is asked for.
type statsOptions struct {
	File    string
	Session string
	Dialect string
	Filter  *transcript.Filter
	JSON    bool
	Color   string
	Out     io.Writer
}

// jsonStats is what stats --json prints. Its names are documented in the help
// and stay as they are.
type jsonStats struct {
	Object  string           `json:"object"` // "stats"
	Session int64            `json:"session"`
	UID     string           `json:"uid"`
	Name    string           `json:"name"`
	Dialect string           `json:"dialect"`
	Agent   string           `json:"agent"`
	Seconds float64          `json:"seconds"`
	Frames  int64            `json:"frames"`
	Bytes   int64            `json:"bytes"`
	Failed  int64            `json:"failed"`
	Streams map[string]total `json:"streams"`
	Turns   jsonTurns        `json:"turns"`
	Usage   transcript.Usage `json:"usage"`
	Labels  []jsonLabel      `json:"labels"`
	Tools   []jsonTool       `json:"tools"`
	LLM     []jsonModel      `json:"llm"`
}

type total struct {
	Frames int64 `json:"frames"`
	Bytes  int64 `json:"bytes"`
}

type jsonTurns struct {
	Ended   int         `json:"ended"`
	Failed  int         `json:"failed"`
	Open    int         `json:"open"`
	Latency jsonLatency `json:"latency"`
}

type jsonLabel struct {
	Label   string       `json:"label"`
	Stream  string       `json:"stream"`
	Frames  int64        `json:"frames"`
	Bytes   int64        `json:"bytes"`
	Failed  int64        `json:"failed"`
	Open    int64        `json:"open"`
	Latency *jsonLatency `json:"latency,omitempty"`
}

type jsonTool struct {
	Tool    string      `json:"tool"`
	Calls   int64       `json:"calls"`
	Failed  int64       `json:"failed"`
	Open    int64       `json:"open"`
	Latency jsonLatency `json:"latency"`
}

type jsonLatency struct {
	Count   int   `json:"count"`
	P50US   int64 `json:"p50_us"`
	P90US   int64 `json:"p90_us"`
	P99US   int64 `json:"p99_us"`
	MaxUS   int64 `json:"max_us"`
	Slowest int64 `json:"slowest"` // the frame that began the longest
}

func latencyJSON(l transcript.Latency) jsonLatency {
	return jsonLatency{l.Count, micros(l.P50), micros(l.P90), micros(l.P99), micros(l.Max), l.Slowest}
}

// stats prints the numbers of a session.
func stats(ctx context.Context, o statsOptions) error {
	l, err := openLook(ctx, o.File, o.Session, o.Dialect)
	if err != nil {
		return err
	}
	defer l.Close()
	t, err := transcript.Open(ctx, l.Session, l.Dialect)
	if err != nil {
		return err
	}
	s, err := t.Stats(ctx, o.Filter)
	if err != nil {
		return err
	}
	models, err := modelsOf(ctx, l, t, o.Filter)
	if err != nil {
		return err
	}
	p := newPrinter(o.Out, o.Color)
	if o.JSON {
		j := statsJSON(t, s)
		j.LLM = modelsJSON(models)
		p.json(j)
		return p.finish(nil)
	}
	for _, line := range append(statsLines(t, s, p.term.Width), modelLines(models, p.term.Width)...) {
		p.line(line)
	}
	return p.finish(nil)
}

func statsJSON(t *transcript.Transcript, s *transcript.Stats) jsonStats {
	j := jsonStats{
		Object: "stats", Session: t.Session.ID, UID: t.Session.UID, Name: t.Session.Name, Dialect: t.Dialect.Name(), Agent: t.Agent,
		Seconds: t.Duration().Seconds(), Frames: s.Frames, Bytes: s.Bytes, Failed: s.Failed, Streams: map[string]total{},
		Turns: jsonTurns{s.Ended, s.Bad, s.Open, latencyJSON(s.Turns)}, Usage: s.Usage, Labels: []jsonLabel{}, Tools: []jsonTool{},
	}
	for stream, n := range s.Streams {
		j.Streams[store.Stream(stream).String()] = total(n)
	}
	for _, l := range s.Labels {
		x := jsonLabel{Label: l.Label, Stream: l.Stream, Frames: l.Frames, Bytes: l.Bytes, Failed: l.Failed, Open: l.Open}
		if l.Latency.Count > 0 {
			y := latencyJSON(l.Latency)
			x.Latency = &y
		}
		j.Labels = append(j.Labels, x)
	}
	for _, u := range s.Tools {
		j.Tools = append(j.Tools, jsonTool{u.Tool, u.Calls, u.Failed, u.Open, latencyJSON(u.Latency)})
	}
	return j
}

// statsLines is the same for people.
func statsLines(t *transcript.Transcript, s *transcript.Stats, most int) []line {
	facts := []string{fmt.Sprintf("session %d", t.Session.ID)}
	for _, f := range []string{t.Session.Name, t.Dialect.Name(), t.Agent} {
		if f != "" {
			facts = append(facts, f)
		}
	}
	out := []line{line{}.add(toneStrong, strings.Join(facts, ", "))}
	fact := func(name, text string) { out = append(out, line{}.pad(toneDim, name, 8).add(tonePlain, text)) }
	streams := make([]string, 0, len(s.Streams))
	for stream, n := range s.Streams {
		if n.Frames > 0 {
			streams = append(streams, fmt.Sprintf("%s %d", store.Stream(stream), n.Frames))
		}
	}
	if s.Frames == 0 {
		fact("frames", "none")
		return out
	}
	fact("frames", fmt.Sprintf("%d (%s), %s in %s", s.Frames, strings.Join(streams, ", "), size(s.Bytes), lasting(t.Duration())))
	if n := s.Ended + s.Open; n > 0 {
		text := count(n, "turn")
		if s.Bad > 0 {
			text += fmt.Sprintf(", %d failed", s.Bad)
		}
		if s.Open > 0 {
			text += fmt.Sprintf(", %d without an end", s.Open)
		}
		if s.Turns.Count > 0 {
			text += fmt.Sprintf("; median %s, longest %s (#%d)", lasting(s.Turns.P50), lasting(s.Turns.Max), s.Turns.Slowest)
		}
		fact("turns", text)
	}
	if u := s.Usage; u.Frames > 0 {
		if u.Input+u.Output+u.Cached > 0 {
			fact("tokens", fmt.Sprintf("%d in, %d out, %d cached", u.Input, u.Output, u.Cached))
		}
		if u.Cost > 0 {
			fact("cost", strconv.FormatFloat(u.Cost, 'g', 4, 64))
		}
	}
	if len(s.Tools) > 0 {
		out = append(out, nil)
		rows := [][]string{{"tool", "calls", "failed", "open", "median", "p90", "p99", "longest"}}
		for _, u := range s.Tools {
			rows = append(rows, append([]string{u.Tool, num(u.Calls), zero(u.Failed), zero(u.Open)}, latencyCells(u.Latency)...))
		}
		out = append(out, table(rows, most)...)
	}
	out = append(out, nil)
	rows := [][]string{{"label", "stream", "frames", "bytes", "failed", "open", "median", "p90", "p99", "longest"}}
	for _, l := range s.Labels {
		rows = append(rows, append([]string{l.Label, l.Stream, num(l.Frames), size(l.Bytes), zero(l.Failed), zero(l.Open)}, latencyCells(l.Latency)...))
	}
	return append(out, table(rows, most)...)
}

func latencyCells(l transcript.Latency) []string {
	if l.Count == 0 {
		return []string{"", "", "", ""}
	}
	cells := make([]string, 0, 4)
	for _, d := range []time.Duration{l.P50, l.P90, l.P99, l.Max} {
		cells = append(cells, lasting(d))
	}
	return cells
}

func num(n int64) string { return strconv.FormatInt(n, 10) }

func zero(n int64) string {
	if n == 0 {
		return ""
	}
	return num(n)
}

// table lays rows out in columns, the first row as heads, the first column to
// the left and at most as wide as most leaves room for (0 is any).
func table(rows [][]string, most int) []line {
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for c, cell := range r {
			widths[c] = max(widths[c], width(visible(cell)))
		}
	}
	for c := range widths {
		said := false
		for _, r := range rows[1:] {
			said = said || r[c] != ""
		}
		if !said {
			widths[c] = 0
		}
	}
	rest := 0
	for _, w := range widths[1:] {
		if w > 0 {
			rest += w + 2
		}
	}
	if most > 0 {
		widths[0] = max(min(widths[0], most-rest), 12)
	}
	var out []line
	for i, r := range rows {
		t := tonePlain
		if i == 0 {
			t = toneDim
		}
		l := line{}.pad(t, r[0], widths[0])
		last := len(r) - 1
		for last > 0 && r[last] == "" {
			last--
		}
		for c := 1; c <= last; c++ {
			if widths[c] > 0 {
				text := visible(r[c])
				l = l.add(t, "  "+strings.Repeat(" ", max(0, widths[c]-width(text)))+text)
			}
		}
		out = append(out, l)
	}
	return out
}
