/*
 * What was odd in the files of a machine, for a person to read: kept in the
 * order of reading, bounded in number and length. One owner at a time.
 */
#ifndef HC_SYS_WARNINGS_H
#define HC_SYS_WARNINGS_H

/* A tree that is all wrong says so once; the last text kept then tells that there was more. */
#define HC_WARNINGS_MAX 64

struct hc_warnings {
	char *texts[HC_WARNINGS_MAX];
	unsigned nr;
};

/*
 * Adds a line without a full stop. sink NULL: nobody wants to know. A text that is
 * there already isn't added again, and one for which there is no memory is lost.
 */
void hc_warn(struct hc_warnings *sink, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The i-th, from 0; NULL past the last. */
const char *hc_warnings_get(const struct hc_warnings *sink, unsigned i);

/* Frees the texts; the struct is empty and usable again. pre: zeroed before its first use */
void hc_warnings_clear(struct hc_warnings *sink);

#endif
