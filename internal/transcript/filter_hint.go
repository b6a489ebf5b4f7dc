package transcript

// example is a condition on the field, for hints.
func (f *field) example() string {
	switch f.kind {
	case kindChoice:
		return f.name + " = " + f.words[0]
	case kindNumber:
		return f.name + " = 3, or " + f.name + " = 3..9"
	case kindTime:
		return f.name + " > 1.5s"
	case kindSize:
		return f.name + " > 64KiB"
	case kindSearch:
		return f.name + `:"words", or ` + f.name + " ~ /regular expression/"
	case kindFlag:
		return f.name
	}
	return f.name + " = some*"
}

// nearest returns the field whose name is most like word, "" when none is.
func nearest(word string) string {
	for _, f := range fields {
		if len(word) > 2 && (editDistance(word, f.name) <= 1 || len(word) > 4 && editDistance(word, f.name) <= 2) {
			return f.name
		}
	}
	return ""
}

// editDistance counts the letters to add, drop, change or swap with the next.
func editDistance(a, b string) int {
	if len(a) > 32 {
		return len(a)
	}
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
