package inspect

import (
	"fmt"

	"agentrec/internal/llm"
)

// The JSON objects of diff about exchanges, documented in its help.
type (
	jsonPair struct {
		Object  string         `json:"object"` // "exchange"
		A       int64          `json:"a"`      // number of the exchange, 0 when there is none
		B       int64          `json:"b"`
		Name    string         `json:"name"`
		Missing string         `json:"missing,omitempty"` // the side that has no such exchange
		Message int            `json:"message,omitempty"` // the first message of the request that differs, from 1
		Role    string         `json:"role,omitempty"`
		Follows int64          `json:"follows,omitempty"` // the exchange of a that had these differences of the request first
		More    int            `json:"more,omitempty"`    // differences that are not listed
		List    []jsonPairDiff `json:"differences"`
	}
	jsonPairDiff struct {
		Part string `json:"part"` // "request" or "answer"
		Path string `json:"path"`
		A    string `json:"a"` // raw JSON, "" where there is none
		B    string `json:"b"`
	}
)

func pairsJSON(p *printer, list []llm.Pair) {
	for i := range list {
		x := &list[i]
		j := jsonPair{Object: "exchange", A: x.A, B: x.B, Name: x.Name, Missing: missingSide(x), Message: x.Message, Role: x.Role, Follows: x.Follows, More: x.More, List: []jsonPairDiff{}}
		for _, d := range x.List {
			j.List = append(j.List, jsonPairDiff(d))
		}
		p.json(j)
	}
}

func missingSide(x *llm.Pair) string {
	switch {
	case x.A == 0:
		return "a"
	case x.B == 0:
		return "b"
	}
	return ""
}

// pairLines are the exchanges that differ, for people.
func pairLines(list []llm.Pair) []line {
	var out []line
	for i := range list {
		x := &list[i]
		if x.Differences() == 0 {
			continue
		}
		number := func(n int64) string {
			if n == 0 {
				return "-"
			}
			return fmt.Sprint(n)
		}
		head := line{}.add(toneStrong, "exchange "+number(x.A)+"/"+number(x.B)+" ").add(toneAsk, visibleCut(x.Name, 80))
		switch {
		case x.A == 0:
			out = append(out, head.add(toneError, "  only in B"))
			continue
		case x.B == 0:
			out = append(out, head.add(toneError, "  only in A"))
			continue
		}
		head = head.add(toneError, "  "+count(x.Differences(), "difference"))
		if x.Message > 0 {
			head = head.add(toneDim, fmt.Sprintf("  from message %d of the request on", x.Message))
			if x.Role != "" {
				head = head.add(toneDim, " ("+visibleCut(x.Role, 40)+")")
			}
		}
		if x.Follows > 0 {
			head = head.add(toneDim, fmt.Sprintf("  the request as in exchange %d", x.Follows))
		}
		out = append(out, head)
		out = append(out, pairDetail(x)...)
	}
	return out
}

// pairDetail is where two exchanges differ.
func pairDetail(x *llm.Pair) []line {
	var out []line
	for _, d := range x.List {
		out = append(out, line{}.add(tonePlain, "  "+d.Part).add(toneStrong, " "+visibleCut(d.Path, maxRow)))
		out = append(out, changes(d.A, d.B)...)
	}
	if x.More > 0 {
		out = append(out, line{{fmt.Sprintf("  and %s more", count(x.More, "difference")), toneDim}})
	}
	return out
}
