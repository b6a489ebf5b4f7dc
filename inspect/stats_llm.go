package inspect

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"agentrec/internal/llm"
	"agentrec/internal/transcript"
)

// modelStats are the numbers of the exchanges with one model at one server.
type modelStats struct {
	Model, Host    string
	Exchanges      int64
	Failed         int64
	Retries        int64
	Open           int64
	Usage          llm.Usage
	Sent, Received int64
	Took, TTFB     transcript.Latency // Slowest is the number of an exchange

	took, ttfb   []time.Duration
	tookN, ttfbN []int64 // numbers of the exchanges
}

type jsonModel struct {
	Model     string      `json:"model"`
	Host      string      `json:"host"`
	Exchanges int64       `json:"exchanges"`
	Failed    int64       `json:"failed"`
	Retries   int64       `json:"retries"`
	Open      int64       `json:"open"`
	Input     int64       `json:"input"`
	Output    int64       `json:"output"`
	Cached    int64       `json:"cached"`
	Reasoning int64       `json:"reasoning"`
	Cost      float64     `json:"cost"`
	Sent      int64       `json:"sent"`
	Received  int64       `json:"received"`
	Took      jsonLatency `json:"took"`
	TTFB      jsonLatency `json:"ttfb"`
}

// modelsOf counts the exchanges that a filter chooses, by model and server, most
// first; f may be nil.
func modelsOf(ctx context.Context, l *look, t *transcript.Transcript, f *transcript.Filter) ([]*modelStats, error) {
	all, err := l.exchanges(ctx)
	if err != nil {
		return nil, err
	}
	var chosen map[int64]bool
	if f != nil && len(all.list) > 0 {
		if chosen, err = chosenExchanges(ctx, t, f); err != nil {
			return nil, err
		}
	}
	by := map[[2]string]*modelStats{}
	var list []*modelStats
	for i := range all.list {
		x := &all.list[i]
		if chosen != nil && !chosen[x.Head.Number] {
			continue
		}
		host, _ := x.place()
		key := [2]string{x.Told.Model, host}
		m := by[key]
		if m == nil {
			m = &modelStats{Model: key[0], Host: host}
			by[key], list = m, append(list, m)
		}
		m.add(x)
	}
	for _, m := range list {
		m.Took, m.TTFB = transcript.LatencyOf(m.took), transcript.LatencyOf(m.ttfb)
		if n := m.Took.Slowest; n > 0 {
			m.Took.Slowest = m.tookN[n-1]
		}
		if n := m.TTFB.Slowest; n > 0 {
			m.TTFB.Slowest = m.ttfbN[n-1]
		}
	}
	slices.SortStableFunc(list, func(a, b *modelStats) int { return cmp.Compare(b.Exchanges, a.Exchanges) })
	return list, nil
}

func (m *modelStats) add(x *exchange) {
	r := &x.Told
	m.Exchanges++
	m.Sent += x.Head.Sent
	m.Received += x.Head.Received
	switch {
	case x.Head.End == "":
		m.Open++
	case x.failed():
		m.Failed++
	}
	if x.Head.Attempt > 1 {
		m.Retries++
	}
	if u := r.Usage; u.Known {
		m.Usage.Known = true
		m.Usage.Input += u.Input
		m.Usage.Output += u.Output
		m.Usage.Cached += u.Cached
		m.Usage.Reasoning += u.Reasoning
		m.Usage.Cost += u.Cost
	}
	if r.Took >= 0 && !x.failed() { // a refusal is quick and says nothing of the model
		m.took, m.tookN = append(m.took, r.Took), append(m.tookN, x.Head.Number)
		if r.FirstByte >= 0 {
			m.ttfb, m.ttfbN = append(m.ttfb, r.FirstByte), append(m.ttfbN, x.Head.Number)
		}
	}
}

func modelsJSON(list []*modelStats) []jsonModel {
	out := make([]jsonModel, 0, len(list))
	for _, m := range list {
		out = append(out, jsonModel{
			m.Model, m.Host, m.Exchanges, m.Failed, m.Retries, m.Open, m.Usage.Input, m.Usage.Output, m.Usage.Cached, m.Usage.Reasoning, m.Usage.Cost,
			m.Sent, m.Received, latencyJSON(m.Took), latencyJSON(m.TTFB),
		})
	}
	return out
}

// modelLines is the same for people.
func modelLines(list []*modelStats, most int) []line {
	if len(list) == 0 {
		return nil
	}
	rows := [][]string{{"model", "server", "exchanges", "failed", "retries", "open", "in", "cached", "out", "cost", "ttfb", "median", "p90", "longest"}}
	for _, m := range list {
		row := []string{dash(m.Model), m.Host, num(m.Exchanges), zero(m.Failed), zero(m.Retries), zero(m.Open), zero(m.Usage.Input), zero(m.Usage.Cached), zero(m.Usage.Output), "", "", "", "", ""}
		if m.Usage.Cost > 0 {
			row[9] = strconv.FormatFloat(m.Usage.Cost, 'g', 4, 64)
		}
		if m.Took.Count > 0 {
			copy(row[11:], []string{lasting(m.Took.P50), lasting(m.Took.P90), lasting(m.Took.Max)})
		}
		if m.TTFB.Count > 0 {
			row[10] = lasting(m.TTFB.P50)
		}
		rows = append(rows, row)
	}
	return append([]line{nil}, table(rows, most)...)
}
