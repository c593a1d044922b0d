import { contextdExtension } from "contextd/pi";

export default contextdExtension({ create: { settings: { reserve_tokens: 500, keep_recent_tokens: 400 } } });
