//go:build unix && !linux

package record

// lowerPriority does nothing: a priority belongs to the whole process here.
func lowerPriority() {}
