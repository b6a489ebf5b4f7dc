package transcript

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"agentrec/internal/dialect"
	"agentrec/store"
)

func phiTranscript(t *testing.T) *Transcript {
	t.Helper()
	lines := wire(t, "testdata/wire/phi-0.3.0__python-sdk-0.2.7.wire.ndjson")
	for i := range lines {
		lines[i].T = float64(i * 100)
	}
	lines = append(lines, phi(`err plain text with a\nb`, `out not json`, `in {"type":"run","query":"again","n":12345678901234567890,"deep":[{"k":"v"},{"k":"w"}],"e":1e2}`)...)
	return build(t, "phi", lines)
}

// seqs returns the frames that an expression selects.
func seqs(t *testing.T, tr *Transcript, expr string) []int64 {
	t.Helper()
	f, err := ParseFilter(expr)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	m := f.On(tr)
	var got []int64
	from, to := f.Range()
	for frame, err := range tr.Session.Frames(t.Context(), 1, 0) {
		if err != nil {
			t.Fatal(err)
		}
		quick := m.Quick(frame.Seq)
		match := m.Match(frame)
		if quick == Yes && !match || quick == No && match {
			t.Errorf("%s: frame %d is %v at first sight and %v in the end", expr, frame.Seq, quick, match)
		}
		if !f.NeedsPayload() && quick == Perhaps {
			t.Errorf("%s: frame %d is not decided without payload", expr, frame.Seq)
		}
		if match {
			if frame.Seq < from || to > 0 && frame.Seq > to {
				t.Errorf("%s: frame %d lies outside %d..%d", expr, frame.Seq, from, to)
			}
			got = append(got, frame.Seq)
		}
	}
	return got
}

func TestFilter(t *testing.T) {
	tr := phiTranscript(t)
	all := make([]int64, len(tr.Entries))
	for i := range all {
		all[i] = int64(i + 1)
	}
	for _, c := range []struct {
		expr string
		want []int64
	}{
		{"", all},
		{"label = run", []int64{8, 15, 28}},
		{"l = run", []int64{8, 15, 28}},
		{"run", []int64{8, 15, 28}},
		{"tool_*", []int64{3, 20, 22}},
		{`label = "tool_*"`, nil},
		{"label:tool_c", []int64{20}},
		{"label ~ /^event\\.tool/", []int64{21, 23}},
		{"label != event.* and out", []int64{1, 3, 5, 7, 14, 20, 25, 27}},
		{"stream = err", []int64{26}},
		{"err", []int64{26}},
		{"role = raw", []int64{26, 27}},
		{"request out", []int64{20}},
		{"prompt", []int64{8, 15, 28}},
		{"shows = thought", []int64{18}},
		{"turn = 1 and role = response", []int64{14}},
		{"turn = 0", []int64{1, 2, 3, 4, 5, 6, 7, 26, 27}},
		{"turn = 2.. and in", []int64{15, 22, 28}},
		{"#20", []int64{20}},
		{"20", []int64{20}},
		{"#20..22", []int64{20, 21, 22}},
		{"20..22", []int64{20, 21, 22}},
		{"..3", []int64{1, 2, 3}},
		{"seq >= 26", []int64{26, 27, 28}},
		{"seq > 5 seq < 8", []int64{6, 7}},
		{"time = 100ms..200ms", []int64{2, 3}},
		{"time > 2.3s", []int64{25}},
		{"took > 0s and request", []int64{2, 4, 6, 8, 15, 20}},
		{"size > 600B", []int64{17}},
		{"size >= 0.5KiB and size < 1kB", []int64{10, 17}},
		{"tool = get_weather", []int64{20, 21, 22, 23}},
		{"call = call-5", []int64{20, 21, 22, 23}},
		{"conv = demo and prompt", []int64{8, 15}},
		{"open", []int64{28}},
		{"not json", []int64{26, 27}},
		{"!json", []int64{26, 27}},
		{"delta", []int64{11, 12, 18}},
		{`text:"Oslo: 4 °C"`, []int64{22, 23}},
		{`"4 °C"`, []int64{22, 23}},
		{`/oslo/`, nil},
		{`/oslo/i and prompt`, []int64{15}},
		{`text !~ /o/`, []int64{26, 28}},
		{`"a\\nb"`, []int64{26}},
		{".type = run", []int64{8, 15, 28}},
		{"type = run", []int64{8, 15, 28}},
		{`.args.city == "Oslo"`, []int64{20}},
		{`args.city:"slo"`, []int64{20}},
		{".internal_id", []int64{5}},
		{".internal_id = 1", []int64{5}},
		{`.internal_id = "1"`, nil},
		{".n = 12345678901234567890", []int64{28}},
		{".n = 12345678901234567891", nil},
		{".n > 12345678901234567889", []int64{28}},
		{".e = 100", []int64{28}},
		{".deep.1.k = w", []int64{28}},
		{".deep.*.k = v", []int64{28}},
		{".**.city = Oslo", []int64{20}},
		{".ok = true", []int64{3}},
		{".seq < 3 and .seq != 2", []int64{9}},
		{"(run or done) and turn = 1", []int64{8, 14}},
		{"run or done and turn = 1", []int64{8, 14, 15, 28}},
		{"run turn = 1 || #1", []int64{1, 8}},
		{"not (in or out)", []int64{26}},
		{"name = x", nil},
		{"state = closed and #1", []int64{1}},
		{"event", nil},
		{`shows = "prompt" && #8`, []int64{8}},
	} {
		if got := seqs(t, tr, c.expr); !slices.Equal(got, c.want) {
			t.Errorf("%s selects %v, want %v", c.expr, got, c.want)
		}
	}
}

func TestFilterErrors(t *testing.T) {
	for _, c := range []struct {
		expr, problem string
		at            int
	}{
		{"lable = x", `there is no field "lable"; did you mean label?`, 0},
		{"run and lable = x", `there is no field "lable"`, 8},
		{"time > 5", `"5" is not a time with its unit`, 7},
		{"size > 5x", `"5x" is not a number of bytes`, 7},
		{"seq = 9..2", "the range ends before it begins", 6},
		{"seq > 1..2", "a range is compared with = or != only", 6},
		{"role = boss", `role is never "boss"; write one of raw, request`, 7},
		{"label < x", "label cannot be compared with <", 0},
		{"text = x", "text cannot be compared with =; write text:", 0},
		{"failed = true", "failed stands alone", 0},
		{"label", "label is compared with nothing; write label = some*", 0},
		{"label =", "a value is missing here", 7},
		{"(run", "this parenthesis is not closed", 0},
		{"run)", "this parenthesis closes nothing", 3},
		{"()", "a condition is missing before this parenthesis", 1},
		{"not", "nothing follows this not", 0},
		{"run and", "a condition is missing here", 7},
		{"= x", `"=" has nothing on its left`, 0},
		{`text:"x`, "this quote is not closed", 5},
		{"/x", "this regular expression is not closed", 0},
		{"text ~ /(/", "this is not a regular expression", 7},
		{".a > x", "> compares numbers", 5},
		{strings.Repeat("(", 300), "it is nested more than 200 deep", 201},
		{strings.Repeat("x", 70000), "it is longer than 65536 bytes", 0},
	} {
		_, err := ParseFilter(c.expr)
		var bad *FilterError
		if !errors.As(err, &bad) {
			t.Errorf("%.30s: no error", c.expr)
			continue
		}
		if !strings.Contains(bad.Error(), c.problem) || bad.At != c.at {
			t.Errorf("%.30s: at %d: %v", c.expr, bad.At, bad)
		}
	}
	_, err := ParseFilter(`run and "é" and lable = x`)
	want := "reading the filter: there is no field \"lable\"; did you mean label? A key of the frame is written .lable\n" +
		"  run and \"é\" and lable = x\n" +
		"                  ^"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestFilterSession(t *testing.T) {
	s := &store.Session{Name: "nightly", Dialect: "acp", State: store.Cut, Tags: map[string]string{"ci": "yes", "os": "linux"}, Argv: []string{"phi", "serve"}}
	for expr, want := range map[string]Verdict{
		"":                              Yes,
		"name = night*":                 Yes,
		"name != night*":                No,
		"tag = ci=yes":                  Yes,
		"tag = ci=no":                   No,
		"tag != ci=no":                  Yes,
		"tag = os=*":                    Yes,
		`command:"phi serve"`:           Yes,
		"state = cut":                   Yes,
		"cut and failed":                Perhaps,
		"dialect = phi and failed":      No,
		"dialect = phi or failed":       Perhaps,
		"dialect = acp or failed":       Yes,
		"not (dialect = acp or failed)": No,
	} {
		f, err := ParseFilter(expr)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Session(s); got != want {
			t.Errorf("%s: %v, want %v", expr, got, want)
		}
	}
}

func TestFilterEvent(t *testing.T) {
	tr := phiTranscript(t)
	e := store.Event{After: 3, Time: 5e9, Kind: store.EventSignal, Signal: "TERM"}
	for expr, want := range map[string]bool{
		"": true, "event": true, "time > 4s": true, "time > 6s": false, "text:TERM": true, "run": false, "not run": true, "event and time = 5s": true,
	} {
		f, err := ParseFilter(expr)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.On(tr).MatchEvent(e); got != want {
			t.Errorf("%s: %v, want %v", expr, got, want)
		}
	}
}

// FuzzFilter holds that the printed form of a filter is one: it parses, prints
// the same again and selects the same frames.
func FuzzFilter(f *testing.F) {
	for _, s := range []string{
		"run", "not (a or b) c", `text:"x\"y" and .a.b\.c >= 1e5`, "#1..3 || size<3KiB", `/a\/b/i`, `'x y'`, ".**.k = *", "a:b", `x.y:"z"`,
		"took>1s !failed", `label = "a*"`, "!!a", "seq=5", "a&&b", ".a", `.a != "1"`, `label=a:b`, "a or b and not c", `tag = k="v w"`,
	} {
		f.Add(s)
	}
	tr := &Transcript{
		Session: &store.Session{Name: "n", State: store.Closed},
		Labels:  []Label{{Name: "run"}, {Name: "a:b"}},
		Entries: []Entry{{Label: 0, Flags: JSON, Role: dialect.Request}, {Label: 1, Size: 5, Stream: store.Err}},
		Dialect: mustDialect(f),
	}
	frames := []store.Frame{{Seq: 1, Raw: []byte(`{"a":{"b":1},"k":"x \"y"}`)}, {Seq: 2, Stream: store.Err, Raw: []byte("a/b x y")}}
	f.Fuzz(func(t *testing.T, s string) {
		one, err := ParseFilter(s)
		if err != nil {
			if bad := (*FilterError)(nil); !errors.As(err, &bad) || bad.At < 0 || bad.At > len(bad.Expr) || bad.Error() == "" {
				t.Fatalf("%q: a bad error: %v", s, err)
			}
			return
		}
		two, err := ParseFilter(one.String())
		if err != nil {
			t.Fatalf("%q prints as %q: %v", s, one, err)
		}
		if two.String() != one.String() {
			t.Fatalf("%q prints as %q, that as %q", s, one, two)
		}
		for _, frame := range frames {
			if one.On(tr).Match(frame) != two.On(tr).Match(frame) {
				t.Fatalf("%q and %q differ in frame %d", s, one, frame.Seq)
			}
		}
	})
}

func mustDialect(f *testing.F) *dialect.Dialect {
	d, err := dialect.Builtin("ndjson")
	if err != nil {
		f.Fatal(err)
	}
	return d
}

func TestCompleteFilter(t *testing.T) {
	tr := phiTranscript(t)
	for expr, want := range map[string][]string{
		"lab":              {"label"},
		"label = tool_":    {"label = tool_call", "label = tool_registered", "label = tool_result"},
		"label=list":       {"label=list_tools"},
		"failed and role=": {"failed and role=raw", "failed and role=request", "failed and role=response", "failed and role=notification", "failed and role=cancel"},
		"(stream = ":       {"(stream = in", "(stream = out", "(stream = err"},
		"not to":           {"not tool", "not tool_call", "not tool_registered", "not tool_result", "not tools_listed", "not took"},
		"tool = ":          {"tool = get_weather"},
		"run a":            {"run and", "run answer", "run attempt"},
		`text:"la`:         nil,
		"nosuch=":          nil,
	} {
		got := CompleteFilter(expr, tr)
		if !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
		for _, g := range got {
			if strings.HasSuffix(g, "get_weather") || strings.HasSuffix(g, "tool_call") {
				if _, err := ParseFilter(g + ")"[:strings.Count(g, "(")]); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if got := CompleteFilter("role = re", nil); !slices.Equal(got, []string{"role = request", "role = response"}) {
		t.Errorf("without a transcript: %q", got)
	}
}

// TestFilterHelp parses every example of the help page.
func TestFilterHelp(t *testing.T) {
	_, examples, ok := strings.Cut(FilterHelp(), "\nExamples\n")
	if !ok {
		t.Fatal("no examples")
	}
	n := 0
	for l := range strings.Lines(examples) {
		expr, _, _ := strings.Cut(strings.TrimSpace(l), "   ")
		if _, err := ParseFilter(strings.TrimSpace(expr)); err != nil {
			t.Error(err)
		}
		n++
	}
	if n < 5 {
		t.Errorf("%d examples", n)
	}
	for l := range strings.Lines(FilterHelp()) {
		if len(l) > 80 {
			t.Errorf("wider than 79 columns: %s", l)
		}
	}
}
