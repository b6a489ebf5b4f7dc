package replay

import (
	"encoding/xml"
	"fmt"
	"path/filepath"
	"strings"
)

// reportName is what a test report calls the replay of a file.
func reportName(r *Report) string {
	name := filepath.Base(r.File)
	if r.Session.Name != "" {
		return name + " " + r.Session.Name
	}
	return fmt.Sprintf("%s session %d", name, r.Session.ID)
}

// problems writes a report's divergences as people read them.
func problems(r *Report) string {
	var b strings.Builder
	for _, n := range r.Divergences {
		b.WriteString(human(n))
	}
	if r.Dropped > 0 {
		fmt.Fprintf(&b, "and %d divergences more\n", r.Dropped)
	}
	switch {
	case r.Verdict != "fail" || b.Len() > 0:
	case r.In.Recorded == 0:
		b.WriteString("agentrec: the replay was ended before it wrote down what it had compared\n")
	default:
		fmt.Fprintf(&b, "agentrec: the replay was ended with %d of %d frames matched\n", r.In.Played, r.In.Recorded)
	}
	return b.String()
}

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitFailure `xml:"failure,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// junit writes reports as JUnit XML: one test case for each.
func junit(reports []*Report) ([]byte, error) {
	suite := junitSuite{Name: "agentrec replay", Tests: len(reports)}
	if len(reports) > 0 {
		suite.Name = "agentrec " + command(reports[0])
	}
	took := 0.0
	named := map[string]int{} // readers of JUnit take cases of one name for one case
	for _, r := range reports {
		name := reportName(r)
		if named[name]++; named[name] > 1 {
			name += fmt.Sprintf(" (%d)", named[name])
		}
		c := junitCase{Name: name, Class: "agentrec." + r.Dialect, Time: fmt.Sprintf("%.3f", r.Took/1000)}
		took += r.Took
		if r.Verdict != "pass" {
			suite.Failures++
			f := &junitFailure{Message: "unfinished", Type: "unfinished", Text: problems(r)}
			if len(r.Divergences) > 0 {
				f.Message, f.Type = visible(r.Divergences[0].Message), r.Divergences[0].Kind
			}
			c.Failure = f
		}
		suite.Cases = append(suite.Cases, c)
	}
	suite.Time = fmt.Sprintf("%.3f", took/1000)
	b, err := xml.MarshalIndent(junitSuites{Suites: []junitSuite{suite}}, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(append([]byte(xml.Header), b...), '\n'), nil
}

// tap writes reports in the Test Anything Protocol, version 13.
func tap(reports []*Report) ([]byte, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "TAP version 13\n1..%d\n", len(reports))
	for i, r := range reports {
		name := strings.NewReplacer("#", " ", "\n", " ").Replace(visible(reportName(r)))
		if r.Verdict == "pass" {
			fmt.Fprintf(&b, "ok %d - %s\n", i+1, name)
			continue
		}
		fmt.Fprintf(&b, "not ok %d - %s\n", i+1, name)
		for line := range strings.SplitSeq(strings.TrimRight(problems(r), "\n"), "\n") {
			fmt.Fprintf(&b, "  # %s\n", line)
		}
	}
	return []byte(b.String()), nil
}

func command(r *Report) string {
	if r.Command == "" {
		return "replay"
	}
	return r.Command
}

// annotations writes divergences as the workflow commands of GitHub Actions,
// which show them beside the file.
func annotations(r *Report) string {
	if r.Verdict == "pass" {
		return ""
	}
	escape := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace
	var b strings.Builder
	for _, n := range r.Divergences[:min(len(r.Divergences), maxAnnotations)] {
		fmt.Fprintf(&b, "::error file=%s,title=%s::%s\n", property(visible(r.File)), property(command(r)+": "+n.Kind), escape(strings.TrimRight(human(n), "\n")))
	}
	return b.String()
}

// maxAnnotations is how many of a replay's divergences are annotated.
const maxAnnotations = 5
