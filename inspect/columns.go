package inspect

import (
	"strings"
	"time"
)

// column is a column of a list of T. Columns are dropped from the highest rank
// down until a terminal's width holds the rest.
type column[T any] struct {
	head  string
	rank  int
	right bool // aligned to the right
	most  int  // widest
	cell  func(x *T, now time.Time) (string, tone)
}

// optionalRank is from which rank on a column that says nothing is left out.
const optionalRank = 8

// columnTable lays a list out in columns of at most width in all (0 is any): a
// head line and a line each.
func columnTable[T any](columns []column[T], list []T, now time.Time, most int) []line {
	type cell struct {
		text string
		tone tone
	}
	cells := make([][]cell, len(columns))
	widths := make([]int, len(columns))
	for c, col := range columns {
		widths[c] = width(col.head)
		said := col.rank < optionalRank
		for i := range list {
			text, t := col.cell(&list[i], now)
			text = visible(text)
			said = said || text != "-" && text != ""
			widths[c] = min(max(widths[c], width(text)), max(col.most, width(col.head)))
			cells[c] = append(cells[c], cell{text, t})
		}
		if !said {
			widths[c] = 0
		}
	}
	for most > 0 && sum(widths) > most {
		drop := -1
		for c, col := range columns {
			if widths[c] > 0 && col.rank > 0 && (drop < 0 || col.rank >= columns[drop].rank) {
				drop = c
			}
		}
		if drop < 0 {
			break
		}
		widths[drop] = 0
	}
	row := func(get func(c int) cell) line {
		var l line
		for c, col := range columns {
			if widths[c] == 0 {
				continue
			}
			x := get(c)
			text := fit(x.text, widths[c], !col.right && c+1 < len(columns))
			if fill := widths[c] - width(text); col.right && fill > 0 {
				text = strings.Repeat(" ", fill) + text
			}
			if len(l) > 0 {
				l = l.add(tonePlain, "  ")
			}
			l = l.add(x.tone, text)
		}
		return l
	}
	out := []line{row(func(c int) cell { return cell{columns[c].head, toneDim} })}
	for i := range list {
		out = append(out, row(func(c int) cell { return cells[c][i] }))
	}
	return out
}

// sum adds the widths of the columns that are shown and the gaps between them.
func sum(widths []int) int {
	n := -2
	for _, w := range widths {
		if w > 0 {
			n += w + 2
		}
	}
	return n
}
