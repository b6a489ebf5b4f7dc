package inspect

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Formats of check.
const (
	formatText  = "text"
	formatJSON  = "json"
	formatJUnit = "junit"
	formatSARIF = "sarif"
)

var checkFormats = []string{formatText, formatJSON, formatJUnit, formatSARIF}

// report prints findings. JUnit and SARIF are whole documents and come at the
// end.
type report interface {
	begin(file string)
	add(f Finding)
	end() error
}

// newReport returns the report that o asks for.
func newReport(o checkOptions) (report, error) {
	p := newPrinter(o.Out, o.Color)
	switch o.Format {
	case formatJSON:
		return &lineReport{p: p, json: true}, nil
	case formatJUnit:
		return &junitReport{p: p}, nil
	case formatSARIF:
		return &sarifReport{p: p}, nil
	case formatText, "":
		return &lineReport{p: p}, nil
	}
	return nil, fmt.Errorf("--format %s: want one of %s", visibleCut(o.Format, 40), strings.Join(checkFormats, ", "))
}

// lineReport prints a line a finding.
type lineReport struct {
	p    *printer
	json bool
}

func (r *lineReport) begin(string) {}

func (r *lineReport) add(f Finding) {
	if r.json {
		r.p.json(f)
		r.p.flush()
		return
	}
	tones := map[Level]tone{LevelOK: toneGood, LevelNote: toneDim, LevelWarning: toneAsk, LevelError: toneError}
	l := line{{f.where() + ": ", toneStrong}}
	if f.Level != LevelOK {
		l = l.add(tones[f.Level], string(f.Level)).add(tonePlain, ": ")
	}
	l = l.add(tonePlain, f.Message).add(toneDim, " ["+f.Rule+"]")
	r.p.line(l)
	r.p.flush()
}

func (r *lineReport) end() error { return r.p.finish(nil) }

// where names the place of a finding, as compilers do.
func (f Finding) where() string {
	s := f.File
	if f.Line > 0 {
		return fmt.Sprintf("%s:%d", s, f.Line)
	}
	if f.Session > 0 {
		s += fmt.Sprintf(": session %d", f.Session)
	}
	if f.Seq > 0 {
		s += fmt.Sprintf(", frame %d", f.Seq)
	}
	if f.Exchange > 0 {
		s += fmt.Sprintf(", exchange %d", f.Exchange)
	}
	return s
}

// The JUnit form, as Jenkins and GitLab read it: a suite a file, a case a
// finding or piece of good news.
type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Failure *junitFailure `xml:"failure,omitempty"`
}

type junitFailure struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
}

type junitReport struct {
	p   *printer
	doc junitSuites
}

func (r *junitReport) begin(file string) {
	r.doc.Suites = append(r.doc.Suites, junitSuite{Name: visible(file)})
}

func (r *junitReport) add(f Finding) {
	s := &r.doc.Suites[len(r.doc.Suites)-1]
	c := junitCase{Name: visible(strings.TrimPrefix(f.where(), f.File+": ")), Class: f.Rule}
	s.Tests++
	if f.Level != LevelOK {
		s.Failures++
		c.Failure = &junitFailure{Type: f.Rule, Message: visible(string(f.Level) + ": " + f.Message)}
	}
	s.Cases = append(s.Cases, c)
}

func (r *junitReport) end() error {
	for i := range r.doc.Suites {
		if s := &r.doc.Suites[i]; s.Tests == 0 { // a suite without a case reads as not run
			s.Tests = 1
			s.Cases = []junitCase{{Name: "no findings", Class: "check"}}
		}
	}
	b, err := xml.MarshalIndent(r.doc, "", "  ")
	if err != nil {
		return fmt.Errorf("writing JUnit: %w", err)
	}
	r.p.string(xml.Header)
	r.p.bytes(b)
	r.p.string("\n")
	return r.p.finish(nil)
}

// The SARIF form (OASIS, version 2.1.0), as code hosts read it.
type sarifReport struct {
	p       *printer
	results []sarifResult
	rules   []sarifRule
}

type sarifRule struct {
	ID string `json:"id"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	Level     string          `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifLocation struct {
	Physical sarifPhysical  `json:"physicalLocation"`
	Logical  []sarifLogical `json:"logicalLocations,omitempty"`
}

type sarifPhysical struct {
	Artifact struct {
		URI string `json:"uri"`
	} `json:"artifactLocation"`
	Region *sarifRegion `json:"region,omitempty"`
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

type sarifLogical struct {
	Name string `json:"fullyQualifiedName"`
}

func (r *sarifReport) begin(string) {}

func (r *sarifReport) add(f Finding) {
	if f.Level == LevelOK {
		return
	}
	if !slices.Contains(r.rules, sarifRule{f.Rule}) {
		r.rules = append(r.rules, sarifRule{f.Rule})
	}
	var at sarifLocation
	at.Physical.Artifact.URI = filepath.ToSlash(f.File)
	if f.Line > 0 {
		at.Physical.Region = &sarifRegion{f.Line}
	}
	if f.Session > 0 {
		name := fmt.Sprintf("session %d", f.Session)
		if f.Seq > 0 {
			name += fmt.Sprintf(", frame %d", f.Seq)
		}
		if f.Exchange > 0 {
			name += fmt.Sprintf(", exchange %d", f.Exchange)
		}
		if f.Place != "" {
			name += ", " + f.Place
		}
		at.Logical = []sarifLogical{{visible(name)}}
	}
	r.results = append(r.results, sarifResult{RuleID: f.Rule, Level: string(f.Level), Message: sarifText{visible(f.Message)}, Locations: []sarifLocation{at}})
}

func (r *sarifReport) end() error {
	type driver struct {
		Name  string      `json:"name"`
		Rules []sarifRule `json:"rules"`
	}
	type tool struct {
		Driver driver `json:"driver"`
	}
	type run struct {
		Tool    tool          `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	doc := struct {
		Schema  string `json:"$schema"`
		Version string `json:"version"`
		Runs    []run  `json:"runs"`
	}{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []run{{
		Tool:    tool{driver{"agentrec", append([]sarifRule{}, r.rules...)}},
		Results: append([]sarifResult{}, r.results...),
	}}}
	b, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return fmt.Errorf("writing SARIF: %w", err)
	}
	r.p.bytes(safeJSON(b))
	r.p.string("\n")
	return r.p.finish(nil)
}
