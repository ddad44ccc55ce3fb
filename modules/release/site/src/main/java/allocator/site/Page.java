package allocator.site;

import org.jsoup.nodes.Element;

/**
 * A document as HTML.
 *
 * @param document its file, relative to the checkout
 * @param title its first heading
 * @param body its content: links still lead to documents
 */
record Page(String document, String title, Element body) {
    /** Its file, relative to the site's folder. */
    String file() {
        return Checkout.page(document);
    }

    /** The way from the folder of this page to the site's folder: empty, or ending in a slash. */
    String toRoot() {
        return "../".repeat((int) file().chars().filter(c -> c == '/').count());
    }

    /** The link from this page to a file of the site. */
    String linkTo(String file) {
        return toRoot() + file;
    }
}
