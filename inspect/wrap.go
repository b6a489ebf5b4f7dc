package inspect

import (
	"strings"

	"github.com/rivo/uniseg"
)

// wrap breaks text into lines of at most n columns, at blanks where there are
// any; n <= 0 breaks at newlines only. The lines are safe to print (see
// visible) and there is at least one.
func wrap(text string, n int) []string {
	text = visibleLines(strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n"))
	var out []string
	for para := range strings.SplitSeq(text, "\n") {
		if n <= 0 || len(para) <= n {
			out = append(out, para)
			continue
		}
		out = wrapLine(out, para, n)
	}
	return out
}

// wrapLine appends the pieces of one line. Continuations keep its indentation
// where that leaves room.
func wrapLine(out []string, para string, n int) []string {
	type cluster struct{ at, end, width int }
	var list []cluster
	for at, state, rest := 0, -1, para; rest != ""; {
		var c string
		var w int
		c, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
		list = append(list, cluster{at, at + len(c), w})
		at += len(c)
	}
	blank := func(c cluster) bool { return para[c.at:c.end] == " " }
	lead := 0
	for lead < len(list) && blank(list[lead]) {
		lead++
	}
	indent := para[:lead]
	if lead > n/2 {
		indent = ""
	}
	prefix := ""
	for i := 0; i < len(list); {
		used, cut, j := len(prefix), -1, i
		for j < len(list) && used+list[j].width <= n {
			if blank(list[j]) && (j > lead || i > 0) {
				cut = j
			}
			used += list[j].width
			j++
		}
		switch {
		case j == len(list) || blank(list[j]):
			cut = j
		case cut <= i:
			cut = max(j, i+1)
		}
		out = append(out, prefix+strings.TrimRight(para[list[i].at:list[cut-1].end], " "))
		for i = cut; i < len(list) && blank(list[i]); i++ {
		}
		prefix = indent
	}
	return out
}
